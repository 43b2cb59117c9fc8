/* SPDX-License-Identifier: MIT */
#include "discovery/discovery.h"

#include <string.h>

#include "base/buf.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "informer/informer.h"

/* As long as a selector may be, with a NUL. */
#define MAX_FIELD_SELECTOR ((64u << 10) + 1)

bool kin_api_resource_has_verb(const kin_api_resource *resource,
                               const char *verb) {
  if (resource == NULL || verb == NULL) {
    return false;
  }
  const char *const *known = resource->verbs;
  while (*known != NULL && strcmp(*known, verb) != 0) {
    known++;
  }
  return *known != NULL;
}

static int refuse_result(const kin__log *log, const char *reason) {
  return kin__log_problem(log, KIN_EINVAL, "result: %s", reason);
}

static int check_result(const kin_discovery_result *result,
                        const kin__log *log) {
  if (result->code != 0 || result->resource_count == 0) {
    return refuse_result(log, "no resource was found");
  }
  if (result->is_category) {
    return kin__log_problem(log, KIN_EINVAL,
                            "result: \"%.80s\" is a category of %zu resources",
                            result->word, result->resource_count);
  }
  const kin_api_resource *resource = result->resources[0];
  if (!kin_api_resource_has_verb(resource, "list") ||
      !kin_api_resource_has_verb(resource, "watch")) {
    return kin__log_problem(
        log, KIN_EINVAL, "result: %.80s%s%.80s cannot be listed and watched",
        resource->plural, resource->group[0] != '\0' ? "." : "",
        resource->group);
  }
  return 0;
}

static bool names_resource(const kin_informer_options *options) {
  return options->group != NULL || options->version != NULL ||
         options->plural != NULL;
}

/* A value of a field selector; client-go's fields.EscapeValue. */
static int append_value(kin__buf *out, const char *value) {
  int err = 0;
  for (const char *c = value; err == 0 && *c != '\0'; c++) {
    if (*c == '\\' || *c == ',' || *c == '=') {
      err = kin__buf_append(out, "\\", 1);
    }
    if (err == 0) {
      err = kin__buf_append(out, c, 1);
    }
  }
  return err;
}

static int select_name(kin__buf *out, const char *selector, const char *name) {
  int err = 0;
  if (kin__has_text(selector)) {
    err = kin__buf_printf(out, "%s,", selector);
  }
  if (err == 0) {
    err = kin__buf_append_cstr(out, "metadata.name=");
  }
  if (err == 0) {
    err = append_value(out, name);
  }
  return err == 0 ? kin__buf_append(out, "", 1) : err;
}

static int open_resource(kin_informer **out, kin__host *host,
                         const kin_discovery_result *result,
                         kin_informer_options *options) {
  const kin_api_resource *resource = result->resources[0];
  kin__buf selector;
  int err = 0;
  kin__buf_init(&selector, host->env->allocator, MAX_FIELD_SELECTOR);
  options->group = resource->group;
  options->version = resource->version;
  options->plural = resource->plural;
  if (!resource->is_namespaced) {
    options->namespaces = NULL;
    options->namespace_count = 0;
  }
  if (result->name[0] != '\0') {
    err = select_name(&selector, options->field_selector, result->name);
    options->field_selector = selector.data;
  }
  if (err == KIN_ETOOBIG) {
    err = kin__log_problem(host->env->log, KIN_EINVAL,
                           "field_selector: over 64 KiB");
  }
  if (err == 0) {
    err = kin__informer_open_on(out, host, options);
  }
  kin__buf_finish(&selector);
  return err;
}

int kin__discovery_open_informer(kin_informer **out, kin__host *host,
                                 const kin_discovery_result *result,
                                 const kin_informer_options *options) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err != 0 || result == NULL) {
    return err != 0 ? err : KIN_EINVAL;
  }
  const kin__log *log = host->env->log;
  kin_informer_options copy;
  err = kin__options_take(&copy, sizeof copy, options,
                          KIN__FIRST_SIZE(kin_informer_options),
                          "kin_informer_options", log);
  if (err == 0) {
    err = check_result(result, log);
  }
  if (err == 0 && names_resource(&copy)) {
    err = kin__log_problem(log, KIN_EINVAL,
                           "group, version and plural: come from the result, "
                           "and must be NULL");
  }
  return err == 0 ? open_resource(out, host, result, &copy) : err;
}

int kin_discovery_open_informer(kin_informer **out, kin_client *client,
                                const kin_discovery_result *result,
                                const kin_informer_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  return kin__discovery_open_informer(out, kin__client_host(client), result,
                                      options);
}
