/* SPDX-License-Identifier: MIT */
#include "decode/status.h"

#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/json.h"
#include "object/text.h"

/* The reasons of metav1.StatusReason. For any other reason, or none, the code
 * decides. */
static bool is_known_reason(const char *reason) {
  static const char *const known[] = {
      "Unauthorized",
      "Forbidden",
      "NotFound",
      "AlreadyExists",
      "Conflict",
      "Gone",
      "Invalid",
      "ServerTimeout",
      "StorageReadError",
      "Timeout",
      "TooManyRequests",
      "BadRequest",
      "MethodNotAllowed",
      "NotAcceptable",
      "InternalError",
      "RequestEntityTooLarge",
      "Expired",
      "UnsupportedMediaType",
      "ServiceUnavailable",
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(reason, known[i]) == 0) {
      return true;
    }
  }
  return false;
}

bool kin__status_has_reason(const kin__status *status, const char *reason,
                            int code) {
  return strcmp(status->reason, reason) == 0 ||
         (status->code == code && !is_known_reason(status->reason));
}

static bool is_expired(const kin__status *status) {
  return strcmp(status->reason, "Expired") == 0 ||
         kin__status_has_reason(status, "Gone", 410);
}

bool kin__status_is_internal(const kin__status *status) {
  return kin__status_has_reason(status, "InternalError", 500);
}

/* Copies a server's text for people: cut at a character's boundary to fit, on
 * one line, without blanks around it. */
static void copy_text(char *to, size_t size, kin_str text) {
  text = kin__str_cut(kin__str_trim(text), size - 1);
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    to[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
  }
  to[text.length] = '\0';
}

static bool contains(kin_str text, kin_str part) {
  return text.length > 0 &&
         memmem(text.data, text.length, part.data, part.length) != NULL;
}

static const char too_large[] = "Too large resource version";

/* RE-07. Servers of three generations report this in three ways. */
static bool is_rv_too_large(const kin__status *status, kin__json *root) {
  static const char cause_type[] = "ResourceVersionTooLarge";
  const kin_str text = kin__cstr(too_large);
  kin__json *details = kin__json_member(root, "details");
  if (!kin__json_is_object(details)) {
    return false;
  }
  bool is_timeout = kin__status_has_reason(status, "Timeout", 504);
  kin__json_elements causes =
      kin__json_elements_of(kin__json_member(details, "causes"));
  kin__json *cause;
  while ((cause = kin__json_next(&causes)) != NULL) {
    if (kin__str_equal(kin__json_string(cause, "reason"),
                       kin__cstr(cause_type)) ||
        (is_timeout &&
         kin__str_equal(kin__json_string(cause, "message"), text))) {
      return true;
    }
  }
  return is_timeout && contains(kin__json_string(root, "message"), text);
}

void kin__status_default_code(kin__status *status, int code) {
  if (status->code == 0) {
    status->code = code;
    status->is_expired = is_expired(status);
  }
}

/* Seconds, or a code. A number that does not fit an int counts as absent. */
static int small_int(kin__json *object, const char *name, int fallback) {
  int64_t value = kin__json_int(object, name, fallback);
  return value >= 0 && value <= INT32_MAX ? (int)value : fallback;
}

static void read_members(kin__status *status, kin__json *root) {
  kin_str version = kin__json_string(root, "apiVersion");
  kin_str outcome = kin__json_string(root, "status");
  status->code = small_int(root, "code", 0);
  copy_text(status->reason, sizeof status->reason,
            kin__json_string(root, "reason"));
  copy_text(status->message, sizeof status->message,
            kin__json_string(root, "message"));
  status->retry_after_s =
      small_int(kin__json_member(root, "details"), "retryAfterSeconds", -1);
  status->is_failure = kin__str_equal(outcome, KIN__LIT("Failure"));
  status->is_success = kin__str_equal(outcome, KIN__LIT("Success"));
  status->is_foreign =
      version.length > 0 && !kin__str_equal(version, KIN__LIT("v1"));
  status->is_expired = is_expired(status);
  status->is_rv_too_large = is_rv_too_large(status, root);
}

int kin__status_parse(kin__status *status, const kin_allocator *allocator,
                      kin_str text) {
  struct yyjson_doc *doc;
  *status = (kin__status){.retry_after_s = -1};
  int err = kin__json_parse(&doc, allocator, text);
  if (err != 0) {
    return err == KIN_ENOMEM ? err : KIN_EUNEXPECTED;
  }
  kin__json *root = kin__json_root(doc);
  bool is_status =
      kin__str_equal(kin__json_string(root, "kind"), KIN__LIT("Status"));
  if (is_status) {
    read_members(status, root);
  }
  kin__json_free(allocator, doc);
  return is_status ? 0 : KIN_EUNEXPECTED;
}

static bool is_of_other_body(kin_str name) {
  return kin__text_name_is(name, KIN__LIT("items")) ||
         kin__text_name_is(name, KIN__LIT("type")) ||
         kin__text_name_is(name, KIN__LIT("object"));
}

bool kin__status_may_begin(kin__status_search *search, kin_str text) {
  text = kin__str_from(text, kin__text_skip_space(text, 0));
  kin__text_members members = {.text = text, .at = search->at};
  while (kin__text_next_name(&members)) {
    if (is_of_other_body(members.name)) {
      return false;
    }
    size_t end = kin__text_skip(text, members.at);
    if (end > 0 && kin__text_name_is(members.name, KIN__LIT("kind"))) {
      kin_str raw;
      search->is_status =
          kin__text_string(kin__str(text.data + members.at, end - members.at),
                           &raw) &&
          kin__text_name_is(raw, KIN__LIT("Status"));
      return search->is_status;
    }
    if (end == 0 || end == text.length) {
      break; /* a number may go on in the next piece */
    }
    members.at = search->at = end;
  }
  return true;
}

static void step_in_string(kin__status_search *search, char c) {
  if (search->is_escaped) {
    search->is_escaped = false;
  } else if (c == '\\') {
    search->is_escaped = true;
  } else if (c == '"') {
    search->is_string = false;
  }
}

size_t kin__status_ends(kin__status_search *search, const char *bytes,
                        size_t length, bool *has_ended) {
  *has_ended = false;
  for (size_t i = 0; i < length; i++) {
    char c = bytes[i];
    if (search->is_string) {
      step_in_string(search, c);
    } else if (c == '"') {
      search->is_string = true;
    } else if (c == '{' || c == '[') {
      search->depth++;
    } else if ((c == '}' || c == ']') && --search->depth == 0) {
      *has_ended = true;
      return i + 1;
    }
  }
  return length;
}

typedef struct meaning {
  int code;
  const char *reason;
  const char *message; /* used if the server sent no text */
} meaning;

/* The first row serves every code below 500 that has no row, the last every
 * other code. */
static const meaning *meaning_of(int code) {
  static const meaning meanings[] = {
      {0, "", "the server refused the request for an unknown reason"},
      {400, "BadRequest", "the server rejected the request"},
      {401, "Unauthorized", "the server asks for credentials"},
      {403, "Forbidden", "the server does not allow this"},
      {404, "NotFound", "the server does not have the resource"},
      {405, "MethodNotAllowed", "the server does not support this verb"},
      {406, "NotAcceptable", "the server cannot answer in the accepted types"},
      {409, "Conflict", "the server reported a conflict"},
      {415, "UnsupportedMediaType", "the server does not take this media type"},
      {422, "Invalid", "the server found the request invalid"},
      {429, "TooManyRequests", "the server has too many requests"},
      {503, "ServiceUnavailable", "the server is unavailable"},
      {504, "Timeout", "the server could not answer in time"},
      {500, "InternalError", "the server had an internal error"},
  };
  size_t last = sizeof meanings / sizeof *meanings - 1;
  for (size_t i = 1; i < last; i++) {
    if (meanings[i].code == code) {
      return &meanings[i];
    }
  }
  return code < 500 ? &meanings[0] : &meanings[last];
}

void kin__status_from_response(kin__status *status, int http_status,
                               kin_str body) {
  const meaning *known = meaning_of(http_status);
  *status = (kin__status){
      .code = http_status, .retry_after_s = -1, .is_failure = true};
  copy_text(status->reason, sizeof status->reason, kin__cstr(known->reason));
  copy_text(status->message, sizeof status->message,
            kin__str_trim(body).length > 0 ? body : kin__cstr(known->message));
  status->is_expired = is_expired(status);
}

void kin__status_make(kin__status *status, int code, const char *reason,
                      const char *message) {
  *status =
      (kin__status){.code = code, .retry_after_s = -1, .is_failure = true};
  copy_text(status->reason, sizeof status->reason, kin__cstr(reason));
  copy_text(status->message, sizeof status->message, kin__cstr(message));
  status->is_expired = is_expired(status);
  status->is_rv_too_large = kin__status_has_reason(status, "Timeout", 504) &&
                            contains(kin__cstr(message), kin__cstr(too_large));
}
