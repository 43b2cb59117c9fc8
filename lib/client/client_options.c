/* SPDX-License-Identifier: MIT */
#include "client/client_options.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <kin/error.h>
#include <kin/version.h>

#include "base/limiter.h"
#include "base/options.h"
#include "base/sealed.h"
#include "transport/inflate.h"

#define MAX_TIMEOUT_MS 3600000u
#define MAX_BUDGET_US 1000000u
#define MAX_LISTS 65536u
#define MAX_READ_DELAY_MS 1000u
#define MAX_USER_AGENT 256u

kin__log kin__client_log(const kin_client_options *options, char *problem) {
  kin_log_level level =
      options->log_level != 0 ? options->log_level : KIN_LOG_WARN;
  return (kin__log){options->log, options->log_data, level, problem};
}

const char *kin__client_user_agent(const kin_client_options *options) {
  return options->user_agent != NULL ? options->user_agent
                                     : "kinformer/" KIN_VERSION_STRING;
}

typedef struct limit {
  const char *name;
  uint64_t value;
  uint64_t max;
} limit;

static int check_numbers(const kin_client_options *options,
                         const kin__log *log) {
  const limit limits[] = {
      {"connect_timeout_ms", options->connect_timeout_ms, MAX_TIMEOUT_MS},
      {"response_timeout_ms", options->response_timeout_ms, MAX_TIMEOUT_MS},
      {"budget_us", options->budget_us, MAX_BUDGET_US},
      {"mutation_check_ms", options->mutation_check_ms, MAX_TIMEOUT_MS},
      {"max_lists", options->max_lists, MAX_LISTS},
      {"list_turn_ms", options->list_turn_ms, MAX_TIMEOUT_MS},
      {"watch_read_delay_ms", options->watch_read_delay_ms, MAX_READ_DELAY_MS},
      {"qps_milli", options->qps_milli, KIN__BUCKET_MAX_QPS_MILLI},
      {"burst", options->burst, KIN__BUCKET_MAX_BURST}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    if (limits[i].value > limits[i].max) {
      return kin__log_problem(log, KIN_EINVAL,
                              "%s: %" PRIu64 " is more than %" PRIu64,
                              limits[i].name, limits[i].value, limits[i].max);
    }
  }
  if (options->burst != 0 && options->qps_milli == 0) {
    return kin__log_problem(log, KIN_EINVAL, "burst: needs qps_milli");
  }
  return 0;
}

static int check_enums(const kin_client_options *options, const kin__log *log) {
  int check = (int)options->mutation_check;
  if (check < KIN_MUTATION_CHECK_OFF || check > KIN_MUTATION_CHECK_PROTECT) {
    return kin__log_problem(log, KIN_EINVAL,
                            "mutation_check: there is no value %d", check);
  }
  return 0;
}

static int check_checks(const kin_client_options *options,
                        const kin__log *log) {
  bool mutations = options->mutation_check != KIN_MUTATION_CHECK_OFF;
  if ((mutations || options->check_watch_lists) &&
      !kin__checks_are_supported()) {
    return kin__log_problem(log, KIN_ENOTSUP,
                            "%s: needs a library that was built with checks",
                            mutations ? "mutation_check" : "check_watch_lists");
  }
  return 0;
}

static int check_gzip(const kin_client_options *options, const kin__log *log) {
  return options->accept_gzip && !kin__inflate_is_supported()
             ? kin__log_problem(
                   log, KIN_ENOTSUP,
                   "accept_gzip: needs a library that was built with zlib")
             : 0;
}

/* The user agent goes into request heads unescaped. */
static int check_user_agent(const char *s, const kin__log *log) {
  size_t length = strlen(s);
  if (length == 0 || length > MAX_USER_AGENT) {
    return kin__log_problem(log, KIN_EINVAL,
                            "user_agent: has %zu bytes, not 1 to %u", length,
                            MAX_USER_AGENT);
  }
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) {
      return kin__log_problem(log, KIN_EINVAL,
                              "user_agent: has a control character");
    }
  }
  return 0;
}

int kin__client_options_check(const kin_client_options *options,
                              const kin__log *log) {
  int err =
      kin__options_check_common(options->allocator, options->log_level, log);
  if (err == 0) {
    err = check_numbers(options, log);
  }
  if (err == 0) {
    err = check_enums(options, log);
  }
  if (err == 0) {
    err = check_checks(options, log);
  }
  if (err == 0) {
    err = check_gzip(options, log);
  }
  const char *authority = options->proxy_certificate_authority_file;
  if (err == 0 && authority != NULL && authority[0] == '\0') {
    err = kin__log_problem(log, KIN_EINVAL,
                           "proxy_certificate_authority_file: is empty");
  }
  return err == 0 ? check_user_agent(kin__client_user_agent(options), log)
                  : err;
}

void kin__client_bad_server(const char *server, const kin__log *log) {
  if (strchr(server, '@') != NULL) {
    kin__log_problem(log, KIN_EURL,
                     "server: a URL with user information is not supported");
    return;
  }
  kin__log_problem(log, KIN_EURL,
                   "server: \"%.120s\" is no http:// or https:// URL of a "
                   "host, a port and a path, and no unix:// path",
                   server);
}
