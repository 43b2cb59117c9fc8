/* SPDX-License-Identifier: MIT */

/* The envelope of a list. Its members come in any order: built-in types send
 * `metadata` first, custom resources `items`. If a member occurs twice the
 * first counts, but `items` may occur only once. */
#include "decode/list.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "decode/cursor.h"
#include "decode/item.h"

enum { TOKEN_MAX = 16 * 1024 };

typedef enum place { AT_TOP, IN_LIST, IN_METADATA, IN_ITEMS, IN_ITEM } place;

/* Members of the list and of its metadata. */
typedef enum member {
  NO_MEMBER,
  KIND,
  METADATA,
  ITEMS,
  VERSION,
  CONTINUE,
  SHARD_INFO
} member;

struct kin__list_decoder {
  kin_allocator allocator;
  kin__decode_sink sink;
  kin__cursor cursor;
  kin__item item;
  int error; /* the error that ended the decoder, or 0 */
  place place;
  member member;     /* the member whose value is next */
  uint32_t seen;     /* bits: members that have begun */
  bool has_items;    /* items was seen: an array or null */
  bool has_metadata; /* metadata was seen: an object */
  kin__list_result result;
  kin__buf token; /* with its NUL, or empty */
};

static void start(kin__list_decoder *d) {
  d->error = 0;
  d->place = AT_TOP;
  d->member = NO_MEMBER;
  d->seen = 0;
  d->has_items = false;
  d->has_metadata = false;
  d->result = (kin__list_result){.token = ""};
  d->token.length = 0;
}

int kin__list_decoder_new(kin__list_decoder **out,
                          const kin_allocator *allocator,
                          const kin__decode_limits *limits,
                          const kin__projection *projection,
                          const kin__decode_sink *sink) {
  kin__list_decoder *d = kin__malloc(allocator, sizeof *d);
  *out = d;
  if (d == NULL) {
    return KIN_ENOMEM;
  }
  kin__decode_limits bounds = kin__item_limits(limits);
  d->allocator = *allocator;
  d->sink = *sink;
  kin__cursor_init(&d->cursor, &d->allocator, false);
  kin__item_init(&d->item, &d->allocator, &d->sink);
  kin__item_serve(&d->item, &bounds, projection);
  kin__buf_init(&d->token, &d->allocator, TOKEN_MAX + 1);
  start(d);
  return 0;
}

void kin__list_decoder_free(kin__list_decoder *d) {
  if (d == NULL) {
    return;
  }
  kin__cursor_finish(&d->cursor);
  kin__item_finish(&d->item);
  kin__buf_finish(&d->token);
  kin_allocator allocator = d->allocator;
  kin__free(&allocator, d);
}

/* The list's own strings. */

static int set_version(kin__list_decoder *d, kin_str text) {
  if (text.length >= sizeof d->result.version) {
    return KIN_ETOOBIG;
  }
  memcpy(d->result.version, text.data, text.length);
  d->result.version[text.length] = '\0';
  return 0;
}

static int set_token(kin__list_decoder *d, kin_str text) {
  if (text.length > TOKEN_MAX) {
    return KIN_ETOOBIG;
  }
  int err = kin__buf_append_str(&d->token, text);
  if (err == 0) {
    err = kin__buf_append(&d->token, "", 1);
  }
  if (err == 0) {
    d->result.token = d->token.data;
  }
  return err;
}

/* The body is no list, in spite of status 200 (RL-10, RE-03). */
static int check_kind(kin_str kind) {
  bool is_wrong = kin__str_equal(kind, KIN__LIT("Table")) ||
                  kin__str_equal(kind, KIN__LIT("Status"));
  return is_wrong ? KIN_EUNEXPECTED : 0;
}

static int on_string(kin__list_decoder *d) {
  kin_str text = d->cursor.text;
  /* A continue token that ends early would look like the last page's. */
  if (text.length > 0 && memchr(text.data, '\0', text.length) != NULL) {
    return KIN_EUNEXPECTED;
  }
  switch (d->member) {
  case KIND:
    return check_kind(text);
  case VERSION:
    return set_version(d, text);
  case CONTINUE:
    return set_token(d, text);
  case ITEMS:
    return KIN_EUNEXPECTED;
  default:
    return 0;
  }
}

static int on_primitive(kin__list_decoder *d) {
  if (d->member != ITEMS) {
    return 0;
  }
  /* Go encodes a nil slice as null. */
  d->has_items = kin__str_equal(d->cursor.text, KIN__LIT("null"));
  return d->has_items ? 0 : KIN_EUNEXPECTED;
}

/* Members. */

static member list_member(kin_str name) {
  if (kin__str_equal(name, KIN__LIT("items"))) {
    return ITEMS;
  }
  if (kin__str_equal(name, KIN__LIT("metadata"))) {
    return METADATA;
  }
  return kin__str_equal(name, KIN__LIT("kind")) ? KIND : NO_MEMBER;
}

static member metadata_member(kin_str name) {
  if (kin__str_equal(name, KIN__LIT("resourceVersion"))) {
    return VERSION;
  }
  if (kin__str_equal(name, KIN__LIT("continue"))) {
    return CONTINUE;
  }
  return kin__str_equal(name, KIN__LIT("shardInfo")) ? SHARD_INFO : NO_MEMBER;
}

static int on_name(kin__list_decoder *d) {
  kin_str name = d->cursor.text;
  d->member = d->place == IN_LIST ? list_member(name) : metadata_member(name);
  if (d->member == NO_MEMBER) {
    return 0;
  }
  uint32_t bit = 1u << d->member;
  if ((d->seen & bit) != 0) {
    int err = d->member == ITEMS ? KIN_EUNEXPECTED : 0;
    d->member = NO_MEMBER;
    return err;
  }
  d->seen |= bit;
  if (d->member != ITEMS && d->member != METADATA) {
    kin__cursor_want_string(&d->cursor);
  }
  return 0;
}

/* A container begins as the value of a member. */
static int on_container(kin__list_decoder *d, int token) {
  bool is_object = token == KIN__TOKEN_OBJECT;
  if (d->member == ITEMS) {
    if (is_object) {
      return KIN_EUNEXPECTED;
    }
    d->has_items = true;
    d->place = IN_ITEMS;
  } else if (d->member == METADATA && is_object) {
    d->has_metadata = true;
    d->place = IN_METADATA;
  } else {
    d->result.is_sharded |= d->member == SHARD_INFO;
    kin__cursor_skip(&d->cursor, 1);
  }
  return 0;
}

static int on_member_token(kin__list_decoder *d, int token) {
  switch (token) {
  case KIN__TOKEN_NAME:
    return on_name(d);
  case KIN__TOKEN_STRING:
    return on_string(d);
  case KIN__TOKEN_PRIMITIVE:
    return on_primitive(d);
  case KIN__TOKEN_OBJECT:
  case KIN__TOKEN_ARRAY:
    return on_container(d, token);
  case KIN__TOKEN_END:
    d->place = d->place == IN_LIST ? AT_TOP : IN_LIST;
    return 0;
  default:
    return 0;
  }
}

static int on_token(kin__list_decoder *d, int token) {
  switch (d->place) {
  case AT_TOP:
    d->place = IN_LIST;
    return token == KIN__TOKEN_OBJECT ? 0 : KIN_EUNEXPECTED;
  case IN_ITEMS:
    if (token == KIN__TOKEN_END) {
      d->place = IN_LIST;
      return 0;
    }
    if (token != KIN__TOKEN_OBJECT) {
      return KIN_EUNEXPECTED;
    }
    d->place = IN_ITEM;
    kin__item_begin(&d->item, &d->cursor, KIN__ITEM_ASK);
    return 0;
  default:
    return on_member_token(d, token);
  }
}

/* The item has ended. */
static int give_item(kin__list_decoder *d) {
  kin__object_parts parts;
  int err = kin__item_parts(&d->item, &d->cursor, &parts);
  if (err == 0) {
    err = parts.name.length > 0
              ? d->sink.object(d->sink.ctx, KIN__DECODED_LISTED, &parts)
              : kin__item_refuse(&d->item, &d->cursor, KIN_EKEY);
  }
  if (err != 0) {
    return err;
  }
  kin__item_close(&d->item);
  d->place = IN_ITEMS;
  return 0;
}

/* Takes tokens until the span is used up. */
static int run(kin__list_decoder *d) {
  int err = 0;
  while (err == 0) {
    int token = d->place == IN_ITEM ? kin__item_run(&d->item, &d->cursor)
                                    : kin__cursor_next(&d->cursor);
    if (token <= 0) {
      return token;
    }
    err = d->place == IN_ITEM ? give_item(d) : on_token(d, token);
  }
  return err;
}

int kin__list_decoder_parse(kin__list_decoder *d, const char *bytes,
                            size_t length) {
  if (d->error != 0 || length == 0) {
    return d->error;
  }
  kin__cursor_parse(&d->cursor, bytes, length);
  d->error = run(d);
  if (d->error != 0) {
    kin__item_note_key(&d->item, &d->cursor); /* the bytes are still there */
  }
  return d->error;
}

int kin__list_decoder_end(kin__list_decoder *d, kin__list_result *result) {
  if (d->error != 0) {
    return d->error;
  }
  if (!kin__cursor_is_complete(&d->cursor)) {
    return KIN_ETRUNCATED;
  }
  if (!d->has_items || !d->has_metadata) {
    return KIN_EUNEXPECTED;
  }
  *result = d->result;
  return 0;
}

const char *kin__list_decoder_key_in_hand(kin__list_decoder *d) {
  if (d == NULL) {
    return "";
  }
  if (d->error == 0) {
    kin__item_note_key(&d->item, &d->cursor);
  }
  return d->item.key;
}
