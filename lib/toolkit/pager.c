/* SPDX-License-Identifier: MIT */
#include "toolkit/pager.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "feed/feed_options.h"
#include "feed/http_source.h"
#include "feed/pager_core.h"
#include "feed/settings.h"

/* The public pager: the request, the calls to the program, and the life of a
 * member of its client. The core does the rest. */

#define MAX_PAGES_AHEAD 1000u
#define MAX_RETRIES 10u /* RR-01 */

struct kin_pager {
  kin__member member;
  kin_pager_options options; /* its pointers to strings are not used */
  kin__settings settings;
  kin__http_source http;
  char version[KIN__VERSION_SIZE];
  kin__pager_core core;
};

static kin_pager *pager_of(kin__pager_core *core) {
  return KIN__CONTAINER_OF(core, kin_pager, core);
}

/* --- Calls to the program ------------------------------------------------- */

static int on_item(kin__pager_core *core, const kin_object *item) {
  const kin_pager *pager = pager_of(core);
  uint64_t start_ns = kin__clock_ns(&pager->member.env->clock);
  int code = pager->options.on_item(item, pager->options.data);
  kin__env_add_handler_time(pager->member.env, start_ns);
  return code;
}

static void on_ended(kin__pager_core *core, const kin__failure *end) {
  const kin_pager *pager = pager_of(core);
  if (pager->options.on_end == NULL) {
    return;
  }
  kin_pager_result result = {
      .size = sizeof result,
      .code = end->code,
      .error_class = end->error_class,
      .status = end->status,
      .reason = end->reason,
      .message = end->message,
      .resource_version = kin__listwatch_list_version(&core->feed.listwatch),
      .is_paginated = kin__listwatch_is_paginated(&core->feed.listwatch),
      .items = core->given};
  uint64_t start_ns = kin__clock_ns(&pager->member.env->clock);
  pager->options.on_end(&result, pager->options.data);
  kin__env_add_handler_time(pager->member.env, start_ns);
}

static void on_failed(kin__pager_core *core, kin_error_event *event) {
  const kin_pager *pager = pager_of(core);
  if (pager->options.on_error != NULL) {
    pager->options.on_error(event, pager->options.data);
  }
}

static void on_emptied(kin__pager_core *core) {
  kin__member_end(&pager_of(core)->member);
}

static const kin__pager_owner owner = {.item = on_item,
                                       .ended = on_ended,
                                       .failed = on_failed,
                                       .emptied = on_emptied};

/* --- Close ---------------------------------------------------------------- */

static void free_pager(kin_pager *pager) {
  const kin_allocator *allocator = pager->member.env->allocator;
  kin__settings_finish(&pager->settings, allocator);
  kin__free(allocator, pager);
}

static void on_free(kin__member *member) {
  kin_pager *pager = KIN__CONTAINER_OF(member, kin_pager, member);
  kin__pager_core_finish(&pager->core);
  free_pager(pager);
}

static void on_close(kin__member *member) {
  kin__pager_core_close(&KIN__CONTAINER_OF(member, kin_pager, member)->core);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_pager_close(kin_pager *pager, kin_pager_close_cb cb, void *data) {
  return pager != NULL ? kin__member_close(&pager->member, cb, data)
                       : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

/* Whether an API server would accept the pair; it answers others with 400 or
 * 422. */
static bool is_version_valid(const char *version, const char *match) {
  bool is_exact = strcmp(match, "Exact") == 0;
  if (match[0] != '\0' && !is_exact && strcmp(match, "NotOlderThan") != 0) {
    return false;
  }
  bool is_meaningless = match[0] != '\0' && version[0] == '\0';
  return strlen(version) < KIN__VERSION_SIZE && !is_meaningless &&
         !(is_exact && strcmp(version, "0") == 0);
}

/* Logs the fault. Errors: KIN_EINVAL. */
static int check(const kin_pager_options *options, const kin__log *log) {
  const char *version = kin__or_default(options->resource_version, "");
  const char *match = kin__or_default(options->resource_version_match, "");
  if (!is_version_valid(version, match)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "resource_version: \"%.63s\" with the match "
                            "\"%.20s\" cannot be asked for",
                            version, match);
  }
  if (options->on_item == NULL || options->resource == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "%s: is required",
                            options->on_item == NULL ? "on_item" : "resource");
  }
  if (options->pages_ahead > MAX_PAGES_AHEAD) {
    return kin__log_problem(log, KIN_EINVAL,
                            "pages_ahead: %" PRIu32 " is more than %u",
                            options->pages_ahead, MAX_PAGES_AHEAD);
  }
  return 0;
}

static const char *static_match(const char *match) {
  if (!kin__has_text(match)) {
    return "";
  }
  return match[0] == 'E' ? "Exact" : "NotOlderThan";
}

static int init_core(kin_pager *pager) {
  const kin__settings *settings = &pager->settings;
  const kin_pager_options *options = &pager->options;
  const kin__feed_subject subject = {.env = pager->member.env,
                                     .settings = settings,
                                     .namespace_ = settings->namespaces[0],
                                     .http = &pager->http};
  snprintf(pager->version, sizeof pager->version, "%s",
           kin__or_default(options->resource_version, ""));
  kin__pager_core_options core = {
      .owner = &owner,
      .feed = kin__feed_options_of(&subject),
      .list = {.page_size = settings->options.page_size,
               .version = pager->version,
               .version_match = static_match(options->resource_version_match),
               .is_whole = options->whole_list,
               .falls_back_to_full =
                   options->whole_list && !options->no_full_list,
               .max_retries = MAX_RETRIES},
      .pages_ahead = options->pages_ahead};
  return kin__pager_core_init(&pager->core, &core);
}

static int init(kin_pager *pager, const kin_pager_options *options) {
  int err = kin__options_take(&pager->options, sizeof pager->options, options,
                              KIN__FIRST_SIZE(kin_pager_options),
                              "kin_pager_options", pager->member.env->log);
  kin_informer_options given;
  if (err == 0) {
    err = check(&pager->options, pager->member.env->log);
  }
  if (err == 0) {
    err = kin__settings_init(&pager->settings, pager->member.env->allocator,
                             pager->member.env->log, pager->options.resource,
                             KIN__SETTINGS_PAGER, &given);
  }
  return err == 0 ? init_core(pager) : err;
}

int kin__pager_open(kin_pager **out, kin__host *host,
                    const kin_pager_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0) {
    return err;
  }
  kin_pager *pager = kin__calloc(host->env->allocator, 1, sizeof *pager);
  if (pager == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&pager->member, &member_ops, host->env);
  err = init(pager, options);
  if (err != 0) {
    free_pager(pager);
    return err;
  }
  pager->member.on_closed = pager->options.on_closed;
  pager->member.data = pager->options.data;
  kin__member_join(&pager->member, host);
  *out = pager;
  kin__pager_core_start(&pager->core);
  return 0;
}

int kin_pager_open(kin_pager **out, kin_client *client,
                   const kin_pager_options *options) {
  return kin__pager_open(out, kin__client_host(client), options);
}

/* --- Use ------------------------------------------------------------------ */

void kin_pager_pause(kin_pager *pager) {
  if (pager != NULL) {
    kin__pager_core_set_paused(&pager->core, true);
  }
}

void kin_pager_resume(kin_pager *pager) {
  if (pager != NULL) {
    kin__pager_core_set_paused(&pager->core, false);
  }
}
