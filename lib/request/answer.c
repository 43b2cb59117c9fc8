/* SPDX-License-Identifier: MIT */
#include "request/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "decode/status.h"
#include "object/json.h"

/* --- Reasons -------------------------------------------------------------- */

typedef struct known_reason {
  kin_reason reason;
  const char *text;
  int status; /* without a known reason; 0: none */
  int code;
} known_reason;

static const known_reason reasons[] = {
    {KIN_REASON_BAD_REQUEST, "BadRequest", 400, KIN_ESTATUS},
    {KIN_REASON_UNAUTHORIZED, "Unauthorized", 401, KIN_ESTATUS},
    {KIN_REASON_FORBIDDEN, "Forbidden", 403, KIN_ESTATUS},
    {KIN_REASON_NOT_FOUND, "NotFound", 404, KIN_ENOENT},
    {KIN_REASON_METHOD_NOT_ALLOWED, "MethodNotAllowed", 405, KIN_ESTATUS},
    {KIN_REASON_NOT_ACCEPTABLE, "NotAcceptable", 406, KIN_ESTATUS},
    {KIN_REASON_ALREADY_EXISTS, "AlreadyExists", 0, KIN_EEXIST},
    {KIN_REASON_CONFLICT, "Conflict", 409, KIN_ECONFLICT},
    {KIN_REASON_GONE, "Gone", 410, KIN_EGONE},
    {KIN_REASON_EXPIRED, "Expired", 0, KIN_EGONE},
    {KIN_REASON_REQUEST_TOO_LARGE, "RequestEntityTooLarge", 413, KIN_ESTATUS},
    {KIN_REASON_UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", 415,
     KIN_ESTATUS},
    {KIN_REASON_INVALID, "Invalid", 422, KIN_EREJECTED},
    {KIN_REASON_TOO_MANY_REQUESTS, "TooManyRequests", 429, KIN_ESTATUS},
    {KIN_REASON_INTERNAL_ERROR, "InternalError", 500, KIN_ESTATUS},
    {KIN_REASON_SERVER_TIMEOUT, "ServerTimeout", 0, KIN_ESTATUS},
    {KIN_REASON_STORAGE_READ_ERROR, "StorageReadError", 0, KIN_ESTATUS},
    {KIN_REASON_SERVICE_UNAVAILABLE, "ServiceUnavailable", 503, KIN_ESTATUS},
    {KIN_REASON_TIMEOUT, "Timeout", 504, KIN_ESTATUS},
};
#define REASONS (sizeof reasons / sizeof reasons[0])

/* RE-06: a known reason beats the status. NULL: neither is known. */
static const known_reason *find_reason(const char *text, int status) {
  for (size_t i = 0; i < REASONS; i++) {
    if (strcmp(reasons[i].text, text) == 0) {
      return &reasons[i];
    }
  }
  for (size_t i = 0; i < REASONS; i++) {
    if (status != 0 && reasons[i].status == status) {
      return &reasons[i];
    }
  }
  return NULL;
}

/* --- The judgement -------------------------------------------------------- */

static bool is_success(int http_status) {
  return http_status >= 200 && http_status <= 206;
}

/* A Status in a 2xx is small and has the word. All other bodies are spared the
 * parser. */
static bool may_be_status(kin_str body) {
  static const char word[] = "\"Status\"";
  return body.length <= KIN__ANSWER_MAX_ERROR_BODY && body.length > 0 &&
         memmem(body.data, body.length, word, sizeof word - 1) != NULL;
}

/* Whether a media type, with its parameters, is JSON. No type counts as JSON,
 * as everywhere (WS-02). */
static bool is_json(kin_str content_type) {
  size_t length = 0;
  while (length < content_type.length && content_type.data[length] != ';' &&
         content_type.data[length] != ' ') {
    length++;
  }
  kin_str type = kin__str(content_type.data, length);
  static const char suffix[] = "+json";
  size_t at = sizeof suffix - 1;
  return length == 0 ||
         kin__str_equal_nocase(type, KIN__LIT("application/json")) ||
         (length > at &&
          kin__str_equal_nocase(kin__str(type.data + length - at, at),
                                KIN__LIT("+json")));
}

/* RE-01: whether the body may be a text for people. */
static bool is_readable(kin_str content_type) {
  static const char text[] = "text/";
  size_t length = sizeof text - 1;
  return is_json(content_type) ||
         (content_type.length >= length &&
          kin__str_equal_nocase(kin__str(content_type.data, length),
                                KIN__LIT("text/")));
}

static void build_status(kin__status *status, const kin__raw_answer *raw,
                         bool is_create) {
  int http_status = raw->http_status;
  kin_str body = is_readable(raw->content_type) ? raw->body : KIN__LIT("");
  kin__status_from_response(status, http_status, body);
  if (http_status == 409 && is_create) {
    snprintf(status->reason, sizeof status->reason, "AlreadyExists");
  }
  if (http_status < 300 && body.length == 0) {
    snprintf(status->message, sizeof status->message,
             "the server answered %d, which is neither a success nor an error",
             http_status);
  }
}

bool kin__answer_is_failure(kin__failure *failure,
                            const kin_allocator *allocator,
                            const kin__raw_answer *raw, bool is_create,
                            const char *what) {
  bool is_good = is_success(raw->http_status);
  if (is_good && !may_be_status(raw->body)) {
    return false;
  }
  kin__status status;
  int err = kin__status_parse(&status, allocator, raw->body);
  bool is_status = err == 0;
  if (is_good && err == KIN_ENOMEM) {
    kin__failure_from_code(failure, err, what, "");
    return true;
  }
  if (is_good && (!is_status || status.is_success || status.is_foreign)) {
    return false;
  }
  if (!is_good && !(is_status && status.is_failure)) {
    build_status(&status, raw, is_create);
  }
  kin__status_default_code(&status, is_good ? 0 : raw->http_status);
  kin__failure_from_status(failure, &status, raw->retry_after_s, what);
  const known_reason *reason = find_reason(failure->reason, failure->status);
  if (reason != NULL) {
    failure->code = reason->code;
  }
  return true;
}

/* --- The details ---------------------------------------------------------- */

static void read_causes(kin__answer *answer, kin__json *details) {
  kin__json_elements causes =
      kin__json_elements_of(kin__json_member(details, "causes"));
  kin__json *cause;
  while (answer->cause_count < KIN__ANSWER_MAX_CAUSES &&
         (cause = kin__json_next(&causes)) != NULL) {
    answer->causes[answer->cause_count++] =
        (kin_cause){.field = kin__json_string(cause, "field"),
                    .reason = kin__json_string(cause, "reason"),
                    .message = kin__json_string(cause, "message")};
  }
}

void kin__answer_read(kin__answer *answer, const kin_allocator *allocator,
                      const kin__failure *failure, kin_str body) {
  kin__answer_init(answer, allocator);
  const known_reason *reason = find_reason(failure->reason, failure->status);
  answer->reason = reason != NULL ? reason->reason : KIN_REASON_NONE;
  if (!may_be_status(body) ||
      kin__json_parse(&answer->doc, allocator, body) != 0) {
    answer->doc = NULL;
    return;
  }
  kin__json *root = kin__json_root(answer->doc);
  if (!kin__str_equal(kin__json_string(root, "kind"), KIN__LIT("Status"))) {
    return;
  }
  kin__json *details = kin__json_member(root, "details");
  answer->details_kind = kin__json_string(details, "kind");
  answer->details_name = kin__json_string(details, "name");
  read_causes(answer, details);
}

void kin__answer_finish(kin__answer *answer) {
  if (answer->doc != NULL) {
    kin__json_free(answer->allocator, answer->doc);
    answer->doc = NULL;
  }
}

/* --- The object ----------------------------------------------------------- */

int kin_response_object(kin_object **out, const kin_allocator *allocator,
                        const kin_response *response) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (response == NULL) {
    return KIN_EINVAL;
  }
  if (response->code != 0) {
    return response->code;
  }
  if (!is_json(kin__cstr(response->content_type))) {
    return KIN_ECONTENT;
  }
  if (response->body.length == 0) {
    return KIN_ETRUNCATED; /* RE-03 */
  }
  return kin_object_parse(out, allocator, response->body.data,
                          response->body.length);
}
