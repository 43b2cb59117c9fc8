/* SPDX-License-Identifier: MIT */
/* llhttp does the parsing, with its lenient flags off in a final head. This file
 * adds the bounds that llhttp does not have, drops 1xx responses, and keeps the
 * few fields that the library needs.
 *
 * The bounds of the head and of the bytes around a body hold also for blanks and
 * zeros that no callback sees: llhttp never gets more bytes at once than may
 * still come. They are exact, but for bytes that come together with the head's
 * end: no callback tells where it is.
 *
 * The parser pauses at the end of the response, so its error position tells
 * whether bytes follow. Such bytes are never parsed: one request has one
 * response. More bytes mean that the two sides disagree on the end of a
 * response. */
#include "transport/http1.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"

#define STOP (-1)   /* makes llhttp_execute return */
#define SKIP_BODY 1 /* from on_headers_complete: there is no body */

static kin__http1 *self(llhttp_t *parser) {
  return parser->data;
}

static int refuse(kin__http1 *http1, const char *reason) {
  http1->reason = reason;
  return STOP;
}

/* Keeps the bytes that fit; counts all. */
static void collect(char *to, size_t size, size_t *seen, const char *at,
                    size_t length) {
  if (*seen < size) {
    size_t room = size - *seen;
    memcpy(to + *seen, at, length < room ? length : room);
  }
  *seen += length;
}

static kin_str trim_end(const char *bytes, size_t length) {
  while (length > 0 &&
         (bytes[length - 1] == ' ' || bytes[length - 1] == '\t')) {
    length--;
  }
  return kin__str(bytes, length);
}

static void reset_head(kin__http1_head *head) {
  head->response =
      (kin__response_head){.retry_after_s = -1, .is_identity = true};
  head->response.content_type = kin__str(head->content_type, 0);
  head->response.location = kin__str(head->location, 0);
  head->response.encoding = kin__str(head->encoding, 0);
  head->response.etag = kin__str(head->etag, 0);
  if (head->warnings != NULL) {
    head->warnings->length = 0; /* from a 1xx response */
  }
}

static int on_message_begin(llhttp_t *parser) {
  kin__http1 *http1 = self(parser);
  http1->is_interim = false;
  llhttp_set_lenient_keep_alive(parser, 0);
  reset_head(http1->head);
  return 0;
}

static int count_extra(kin__http1 *http1, size_t length, const char *reason) {
  http1->extra_bytes += length;
  return http1->extra_bytes > KIN__HTTP1_MAX_EXTRA_BYTES ? refuse(http1, reason)
                                                         : 0;
}

static int on_trailer(kin__http1 *http1, size_t length) {
  return count_extra(http1, length, "trailers over 16 KiB");
}

static int on_header_field(llhttp_t *parser, const char *at, size_t length) {
  kin__http1 *http1 = self(parser);
  if (http1->is_head_done) {
    return on_trailer(http1, length);
  }
  kin__http1_head *head = http1->head;
  collect(head->name, sizeof head->name, &head->name_length, at, length);
  return 0;
}

/* If there are several Content-Type, Location, Retry-After or ETag lines, the
 * first counts. */
static kin__http1_field classify(const kin__http1_head *head) {
  kin_str name = kin__str(head->name, head->name_length);
  if (name.length > sizeof head->name) {
    return KIN__FIELD_IGNORED;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("content-type"))) {
    return head->response.content_type.length == 0 ? KIN__FIELD_CONTENT_TYPE
                                                   : KIN__FIELD_IGNORED;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("retry-after"))) {
    return head->response.retry_after_s < 0 ? KIN__FIELD_RETRY_AFTER
                                            : KIN__FIELD_IGNORED;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("content-encoding"))) {
    return KIN__FIELD_CONTENT_ENCODING;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("content-length"))) {
    return KIN__FIELD_CONTENT_LENGTH;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("transfer-encoding"))) {
    return KIN__FIELD_TRANSFER_ENCODING;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("location"))) {
    return head->response.location.length == 0 ? KIN__FIELD_LOCATION
                                               : KIN__FIELD_IGNORED;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("etag"))) {
    return head->response.etag.length == 0 ? KIN__FIELD_ETAG
                                           : KIN__FIELD_IGNORED;
  }
  if (kin__str_equal_nocase(name, KIN__LIT("warning"))) {
    return head->warnings != NULL ? KIN__FIELD_WARNING : KIN__FIELD_IGNORED;
  }
  return KIN__FIELD_IGNORED;
}

/* RFC 9110, 8.6: lines that say the same are one. llhttp would refuse the
 * second, and must not add its digits to those of the first. */
static void begin_length(kin__http1_head *head, llhttp_t *parser) {
  if ((parser->flags & F_CONTENT_LENGTH) == 0) {
    head->field = KIN__FIELD_IGNORED;
    return;
  }
  head->length = parser->content_length;
  parser->content_length = 0;
  parser->flags &= (uint16_t)~F_CONTENT_LENGTH; /* until the value's end */
}

/* Only a final head says how long a body is: a 1xx has none, and trailers come
 * behind one. In both llhttp must take each field for an unknown one, or it
 * refuses lengths that differ or are no numbers. */
static int on_header_field_complete(llhttp_t *parser) {
  kin__http1 *http1 = self(parser);
  if (http1->is_head_done || llhttp_get_status_code(parser) < 200) {
    parser->header_state = 0; /* an unknown field */
  }
  if (++http1->line_count > KIN__HTTP1_MAX_LINES) {
    return refuse(http1, "over 256 header lines");
  }
  if (!http1->is_head_done) {
    kin__http1_head *head = http1->head;
    head->field = classify(head);
    if (head->field == KIN__FIELD_CONTENT_LENGTH) {
      begin_length(head, parser);
    }
    head->name_length = head->value_length = 0;
  }
  return 0;
}

/* If memory is out, warnings are dropped. */
static void collect_warning(kin__http1_head *head, const char *at,
                            size_t length) {
  kin__buf *to = head->warnings;
  size_t room = to->max_length - to->length;
  if (kin__buf_append(to, at, length < room ? length : room) != 0) {
    to->length = 0;
    head->field = KIN__FIELD_IGNORED;
  }
}

static int on_header_value(llhttp_t *parser, const char *at, size_t length) {
  kin__http1 *http1 = self(parser);
  if (http1->is_head_done) {
    return on_trailer(http1, length);
  }
  kin__http1_head *head = http1->head;
  if (head->field == KIN__FIELD_CONTENT_TYPE) {
    collect(head->content_type, sizeof head->content_type, &head->value_length,
            at, length);
  } else if (head->field == KIN__FIELD_LOCATION) {
    collect(head->location, sizeof head->location, &head->value_length, at,
            length);
  } else if (head->field == KIN__FIELD_ETAG) {
    collect(head->etag, sizeof head->etag, &head->value_length, at, length);
  } else if (head->field == KIN__FIELD_WARNING) {
    collect_warning(head, at, length);
  } else if (head->field != KIN__FIELD_IGNORED) {
    collect(head->value, sizeof head->value, &head->value_length, at, length);
  }
  return 0;
}

/* The kept bytes of a field that may be cut. */
static kin_str kept(const kin__http1_head *head, const char *value,
                    size_t size) {
  size_t length = head->value_length;
  return trim_end(value, length < size ? length : size);
}

/* Keeps the name of a coding that is not understood or must be undone. */
static void keep_encoding(kin__http1_head *head) {
  kin_str value = kept(head, head->value, sizeof head->value);
  size_t size = sizeof head->encoding;
  size_t length = value.length < size ? value.length : size;
  for (size_t i = 0; i < length; i++) {
    char c = value.data[i];
    head->encoding[i] = (char)(c >= ' ' && c <= '~' ? c : '?');
  }
  head->response.encoding.length = length;
}

/* One gzip in one field can be undone; a transfer coding never can. */
static void note_coding(kin__http1_head *head) {
  kin__response_head *response = &head->response;
  bool is_whole = head->value_length <= sizeof head->value;
  kin_str value = kept(head, head->value, sizeof head->value);
  bool is_content = head->field == KIN__FIELD_CONTENT_ENCODING;
  bool is_chunked =
      !is_content && kin__str_equal_nocase(value, KIN__LIT("chunked"));
  if (is_whole && (value.length == 0 || is_chunked ||
                   kin__str_equal_nocase(value, KIN__LIT("identity")))) {
    return;
  }
  bool is_gzip = is_content && is_whole &&
                 (kin__str_equal_nocase(value, KIN__LIT("gzip")) ||
                  kin__str_equal_nocase(value, KIN__LIT("x-gzip")));
  response->is_gzip = is_gzip && response->is_identity;
  response->is_identity = false;
  keep_encoding(head);
}

static void keep_retry_after(kin__http1_head *head, kin_str value) {
  uint64_t seconds = 0;
  if (kin__str_to_u64(value, &seconds)) {
    head->response.retry_after_s =
        seconds < INT32_MAX ? (int64_t)seconds : INT32_MAX;
  }
}

/* RFC 9110, 8.8.3; only ASCII, because the tag goes into a request. */
static bool is_etag(kin_str tag) {
  bool is_weak = tag.length > 2 && tag.data[0] == 'W' && tag.data[1] == '/';
  size_t begin = is_weak ? 2 : 0;
  if (tag.length < begin + 2 || tag.data[begin] != '"' ||
      tag.data[tag.length - 1] != '"') {
    return false;
  }
  for (size_t i = begin + 1; i < tag.length - 1; i++) {
    char c = tag.data[i];
    if (c <= ' ' || c > '~' || c == '"') {
      return false;
    }
  }
  return true;
}

static void keep_etag(kin__http1_head *head) {
  kin_str tag = kept(head, head->etag, sizeof head->etag);
  if (head->value_length <= sizeof head->etag && is_etag(tag)) {
    head->response.etag = tag;
  }
}

static void end_field(kin__http1_head *head) {
  kin__response_head *response = &head->response;
  switch (head->field) {
  case KIN__FIELD_IGNORED:
  case KIN__FIELD_CONTENT_LENGTH:
    break;
  case KIN__FIELD_CONTENT_TYPE:
    response->content_type =
        kept(head, head->content_type, sizeof head->content_type);
    break;
  case KIN__FIELD_LOCATION:
    response->location = kept(head, head->location, sizeof head->location);
    break;
  case KIN__FIELD_ETAG:
    keep_etag(head);
    break;
  case KIN__FIELD_WARNING:
    collect_warning(head, "\n", 1);
    break;
  case KIN__FIELD_RETRY_AFTER:
    if (head->value_length <= sizeof head->value) {
      keep_retry_after(head, kept(head, head->value, sizeof head->value));
    }
    break;
  case KIN__FIELD_CONTENT_ENCODING:
  case KIN__FIELD_TRANSFER_ENCODING:
    note_coding(head);
    break;
  }
}

static int on_header_value_complete(llhttp_t *parser) {
  kin__http1 *http1 = self(parser);
  kin__http1_head *head = http1->head;
  if (http1->is_head_done) {
    return 0;
  }
  end_field(head);
  return head->field == KIN__FIELD_CONTENT_LENGTH &&
                 parser->content_length != head->length
             ? refuse(http1, "Content-Length lines that differ")
             : 0;
}

static int on_headers_complete(llhttp_t *parser) {
  kin__http1 *http1 = self(parser);
  int status = llhttp_get_status_code(parser);
  if (llhttp_get_http_major(parser) != 1) {
    return refuse(http1, "not HTTP/1.0 or HTTP/1.1");
  }
  if (status < 100) {
    return refuse(http1, "status below 100");
  }
  if (status == 101) {
    return refuse(http1, "switches protocols without being asked");
  }
  if (status < 200) {
    http1->is_interim = true;
    /* The response must follow, also after a 1xx of HTTP/1.0. */
    llhttp_set_lenient_keep_alive(parser, 1);
    return SKIP_BODY;
  }
  http1->is_head_done = true;
  kin__http1_head *head = http1->head;
  http1->head = NULL;
  head->response.status = status;
  http1->bytes_left = KIN__HTTP1_MAX_BARE_BYTES;
  http1->events->on_head(http1->ctx, &head->response);
  if (http1->is_stopped) {
    return STOP;
  }
  /* llhttp 8 would wait for a body if the head tells a length. */
  return http1->is_bodiless || status == 204 || status == 304 ? SKIP_BODY : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t length) {
  kin__http1 *http1 = self(parser);
  http1->bytes_left =
      KIN__HTTP1_MAX_BARE_BYTES - (size_t)(http1->slice_end - (at + length));
  http1->events->on_body(http1->ctx, at, length);
  return http1->is_stopped ? STOP : 0;
}

static int on_message_complete(llhttp_t *parser) {
  kin__http1 *http1 = self(parser);
  if (http1->is_interim) {
    return 0;
  }
  http1->is_complete = true;
  http1->is_keep_alive = llhttp_should_keep_alive(parser) != 0;
  return HPE_PAUSED;
}

static int on_chunk_complete(llhttp_t *parser) {
  self(parser)->extra_bytes = 0;
  return 0;
}

/* Older releases of llhttp skip extensions without a callback. */
#if LLHTTP_VERSION_MAJOR > 8 ||                                                \
    (LLHTTP_VERSION_MAJOR == 8 && LLHTTP_VERSION_MINOR > 0)
#define HAS_EXTENSION_CALLBACKS
static int on_chunk_extension(llhttp_t *parser, const char *at, size_t length) {
  (void)at;
  return count_extra(self(parser), length, "chunk extensions over 16 KiB");
}
#endif

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
    .on_chunk_complete = on_chunk_complete,
#ifdef HAS_EXTENSION_CALLBACKS
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
#endif
};

void kin__http1_init(kin__http1 *http1, kin__http1_head *head,
                     const kin__http1_events *events, void *ctx) {
  memset(http1, 0, sizeof *http1);
  memset(head, 0, sizeof *head);
  llhttp_init(&http1->parser, HTTP_RESPONSE, &settings);
  http1->parser.data = http1;
  http1->events = events;
  http1->head = head;
  http1->ctx = ctx;
  http1->bytes_left = KIN__HTTP1_MAX_HEAD_BYTES;
  reset_head(head);
}

static int malformed(kin__http1 *http1, llhttp_errno_t err) {
  if (http1->reason == NULL) {
    const char *reason = llhttp_get_error_reason(&http1->parser);
    http1->reason = kin__has_text(reason) ? reason : llhttp_errno_name(err);
  }
  return KIN_EHTTP;
}

int kin__http1_parse(kin__http1 *http1, const char *bytes, size_t length) {
  assert(!http1->is_stopped && http1->reason == NULL);
  while (length > 0) {
    if (http1->is_complete) {
      http1->has_extra = true;
      return 0;
    }
    size_t slice = length < http1->bytes_left ? length : http1->bytes_left;
    http1->bytes_left -= slice;
    http1->slice_end = bytes + slice;
    llhttp_errno_t err = llhttp_execute(&http1->parser, bytes, slice);
    if (http1->is_stopped) {
      return 0;
    }
    if (http1->is_complete) {
      const char *end = llhttp_get_error_pos(&http1->parser);
      http1->has_extra = end != bytes + length;
      return 0;
    }
    if (err != HPE_OK) {
      return malformed(http1, err);
    }
    if (http1->bytes_left == 0) {
      http1->reason = http1->is_head_done ? "128 KiB without a byte of the body"
                                          : "head over 64 KiB";
      return KIN_EHTTP;
    }
    bytes += slice;
    length -= slice;
  }
  return 0;
}

int kin__http1_end(kin__http1 *http1) {
  if (!http1->is_complete) {
    (void)llhttp_finish(&http1->parser); /* completes it, or does nothing */
  }
  return http1->is_complete ? 0 : KIN_EEOF;
}

void kin__http1_stop(kin__http1 *http1) {
  http1->is_stopped = true;
}

bool kin__http1_is_complete(const kin__http1 *http1) {
  return http1->is_complete;
}

bool kin__http1_is_reusable(const kin__http1 *http1) {
  return http1->is_complete && http1->is_keep_alive && !http1->has_extra;
}

const char *kin__http1_reason(const kin__http1 *http1) {
  return http1->reason != NULL ? http1->reason : "no reason given";
}
