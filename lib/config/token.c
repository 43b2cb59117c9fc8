/* SPDX-License-Identifier: MIT */
#include "config/token.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "transport/file.h"
#include "transport/handle.h"
#include "transport/secret.h"

#define FRESH_MS 50000u
#define RETRY_MS 1000u /* after a failure, with a token in hand */
#define SCHEME "Bearer "
/* A token and the white space around it. */
#define MAX_FILE_BYTES (KIN__TOKEN_MAX_BYTES + (4u << 10))

struct kin__token {
  uv_loop_t *loop;
  const kin_allocator *allocator;
  kin__clock clock;
  const kin__log *log;
  char *file;

  char *value;      /* "Bearer ...", or NULL: there is none yet */
  uint64_t serial;  /* of value */
  uint64_t read_ms; /* when the file was last read without an error */
  bool is_stale;    /* the next request must have the file read */
  bool is_rejected; /* the value was; a request waits for the file */
  bool was_read;    /* the value is of the file */
  bool is_old_read; /* the reading had begun when the value was rejected */
  int code;         /* the error of the last reading; `reason` says why */
  char reason[256];
  uint32_t failures; /* of this reason, in a row */
  uint64_t failed_ms;

  uv_work_t work;
  uint64_t begun_ms; /* the reading */
  bool is_reading;   /* only the worker may use buffer, length and status */
  char *buffer;      /* MAX_FILE_BYTES, while reading */
  size_t length;
  int status;
  kin__link waiters;

  kin__tick gone; /* so that close_cb comes from the loop */
  bool is_closing;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

/* --- The value ------------------------------------------------------------ */

bool kin__token_is_valid(kin_str text) {
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] <= 0x20 || text.data[i] >= 0x7f) {
      return false;
    }
  }
  return text.length > 0 && text.length <= KIN__TOKEN_MAX_BYTES;
}

/* Errors: KIN_ENOMEM. */
static int set_value(kin__token *token, kin_str text) {
  const size_t prefix = sizeof SCHEME - 1;
  if (token->value != NULL &&
      kin__str_equal(kin__cstr(token->value + prefix), text)) {
    return 0;
  }
  char *value = kin__malloc(token->allocator, prefix + text.length + 1);
  if (value == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(value, SCHEME, prefix);
  memcpy(value + prefix, text.data, text.length);
  value[prefix + text.length] = '\0';
  kin__secret_free(token->allocator, &token->value);
  token->value = value;
  token->serial++;
  return 0;
}

/* --- The file ------------------------------------------------------------- */

/* `why` is not NULL, and never holds content of the file. */
static void fail(kin__token *token, int code, const char *why) {
  char reason[sizeof token->reason];
  snprintf(reason, sizeof reason, "token file %s: %s", token->file, why);
  if (strcmp(reason, token->reason) != 0) {
    token->failures = 0;
  }
  memcpy(token->reason, reason, sizeof reason);
  token->code = code;
  token->failures++;
  token->failed_ms = kin__clock_ms(&token->clock);
  kin__log_write(token->log, kin__log_level_of_failure(token->failures), "%s%s",
                 token->reason,
                 token->value != NULL ? "; the token in hand stays in use"
                                      : "");
}

static void take_content(kin__token *token) {
  uint64_t serial = token->serial;
  kin_str text = kin__str_trim(kin__str(token->buffer, token->length));
  if (token->status != 0) {
    fail(token, KIN_ETOKEN, kin__file_strerror(token->status));
  } else if (text.length == 0) {
    fail(token, KIN_ETOKEN, "it is empty");
  } else if (text.length > KIN__TOKEN_MAX_BYTES) {
    fail(token, KIN_ETOKEN, kin__file_strerror(KIN_ETOOBIG));
  } else if (!kin__token_is_valid(text)) {
    fail(token, KIN_ETOKEN, "it holds something else than a token");
  } else if (set_value(token, text) != 0) {
    fail(token, KIN_ENOMEM, kin_strerror(KIN_ENOMEM));
  } else {
    bool is_rejected = token->is_old_read && token->serial == serial;
    token->read_ms = kin__clock_ms(&token->clock);
    token->failures = 0;
    token->was_read = true;
    token->is_stale = is_rejected;
    token->is_rejected = is_rejected;
  }
}

static void on_work(uv_work_t *work) {
  kin__token *token = KIN__CONTAINER_OF(work, kin__token, work);
  token->status = kin__file_read(token->file, token->buffer, MAX_FILE_BYTES,
                                 &token->length, NULL);
}

static void finish_close(kin__token *token);
static void on_gone(kin__tick *tick);

static void on_worked(uv_work_t *work, int status) {
  kin__token *token = KIN__CONTAINER_OF(work, kin__token, work);
  token->is_reading = false;
  if (status == 0 && !token->is_closing) {
    take_content(token);
  }
  OPENSSL_cleanse(token->buffer, MAX_FILE_BYTES);
  kin__free(token->allocator, token->buffer);
  token->buffer = NULL;
  kin__waiters_serve(&token->waiters);
  if (token->is_closing) {
    finish_close(token);
  }
}

/* Errors: KIN_ENOMEM. */
static int start_reading(kin__token *token) {
  token->buffer = kin__malloc(token->allocator, MAX_FILE_BYTES);
  if (token->buffer == NULL) {
    return KIN_ENOMEM;
  }
  int err = uv_queue_work(token->loop, &token->work, on_work, on_worked);
  assert(err == 0); /* fails only without a callback */
  (void)err;
  token->is_reading = true;
  token->is_old_read = false;
  token->begun_ms = kin__clock_ms(&token->clock);
  return 0;
}

/* --- For the transport ---------------------------------------------------- */

static bool is_due(const kin__token *token) {
  uint64_t now_ms = kin__clock_ms(&token->clock);
  bool has_just_failed = token->failures > 0 && token->value != NULL &&
                         !token->is_rejected &&
                         now_ms - token->failed_ms < RETRY_MS;
  return token->file != NULL && !has_just_failed &&
         (token->is_stale || now_ms - token->read_ms >= FRESH_MS);
}

static bool has_good_value(const kin__token *token) {
  return token->was_read && !token->is_rejected;
}

/* The token in hand is used meanwhile. */
static bool is_slow(const kin__token *token) {
  return token->is_reading && has_good_value(token) &&
         kin__clock_ms(&token->clock) - token->begun_ms >= KIN__PATIENCE_MS;
}

static int get(void *ctx, kin__waiter *waiter, kin__credential *out) {
  kin__token *token = ctx;
  *out = (kin__credential){.reason = token->reason};
  /* The value may have been rejected since the waiter was served. */
  bool may_wait = waiter != NULL && (!waiter->is_served ||
                                     (token->is_reading && token->is_rejected));
  if (may_wait && is_due(token) && !is_slow(token)) {
    int err = token->is_reading ? 0 : start_reading(token);
    if (err == 0) {
      kin__link_push(&token->waiters, &waiter->node);
      out->value = has_good_value(token) ? token->value : NULL;
      return KIN__PENDING;
    }
    fail(token, err, kin_strerror(err));
  }
  if (token->value == NULL) {
    return token->code;
  }
  out->value = token->value;
  out->serial = token->serial;
  return 0;
}

static void rejected(void *ctx, uint64_t serial) {
  kin__token *token = ctx;
  if (serial == token->serial) {
    token->is_stale = true;
    token->is_rejected = true;
    token->is_old_read = token->is_reading;
  }
}

kin__credentials kin__token_credentials(kin__token *token) {
  return (kin__credentials){.get = get, .rejected = rejected, .ctx = token};
}

/* --- Life ----------------------------------------------------------------- */

void kin__token_free(kin__token *token) {
  assert(!token->is_reading);
  kin__secret_free(token->allocator, &token->value);
  kin__free(token->allocator, token->file);
  kin__free(token->allocator, token);
}

static int fill(kin__token *token, const kin__token_options *options) {
  if (options->file != NULL) {
    token->file = kin__strdup(token->allocator, options->file);
    if (token->file == NULL) {
      return KIN_ENOMEM;
    }
    token->is_stale = true;
  }
  return options->token != NULL ? set_value(token, kin__cstr(options->token))
                                : 0;
}

int kin__token_new(kin__token **out, const kin__token_options *options) {
  *out = NULL;
  bool has_token = options->token != NULL;
  bool has_file = options->file != NULL;
  if ((!has_token && !has_file) || (has_file && options->file[0] == '\0') ||
      (has_token && !kin__token_is_valid(kin__cstr(options->token)))) {
    return KIN_EINVAL;
  }
  kin__token *token = kin__calloc(options->allocator, 1, sizeof *token);
  if (token == NULL) {
    return KIN_ENOMEM;
  }
  token->loop = options->loop;
  token->allocator = options->allocator;
  token->clock = options->clock;
  token->log = options->log;
  kin__link_init(&token->waiters);
  kin__tick_init(&token->gone, on_gone);
  int err = fill(token, options);
  if (err != 0) {
    kin__token_free(token);
    return err;
  }
  *out = token;
  return 0;
}

static void on_gone(kin__tick *tick) {
  kin__token *token = KIN__CONTAINER_OF(tick, kin__token, gone);
  void (*cb)(void *ctx) = token->close_cb;
  void *ctx = token->close_ctx;
  kin__token_free(token);
  cb(ctx);
}

static void finish_close(kin__token *token) {
  kin__tick_request(&token->gone, token->loop);
}

void kin__token_close(kin__token *token, void (*cb)(void *ctx), void *ctx) {
  assert(!token->is_closing && kin__link_is_empty(&token->waiters));
  token->is_closing = true;
  token->close_cb = cb;
  token->close_ctx = ctx;
  if (token->is_reading) {
    /* Fails if the reading is running; the callback comes in both cases. */
    (void)uv_cancel((uv_req_t *)&token->work);
  } else {
    finish_close(token);
  }
}
