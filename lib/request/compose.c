/* SPDX-License-Identifier: MIT */
#include "request/compose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "listwatch/target.h"
#include "object/text.h"
#include "transport/request.h"

#define MAX_BODY_BYTES (3u << 20)
#define MAX_TARGET_BYTES (256u << 10)
#define MAX_PARAMETER_BYTES (64u << 10)
#define MAX_MEDIA_TYPE_BYTES 1024u

/* --- The verbs ------------------------------------------------------------ */

typedef enum naming { NAME_NEEDED, NAME_ALLOWED, NAME_FORBIDDEN } naming;

typedef struct verb_rule {
  const char *method;
  const char *content_type;
  naming name;
  bool is_write;
  bool takes_manager;
  bool takes_body;
} verb_rule;

#define JSON "application/json"

static const verb_rule verb_rules[] = {
    [KIN_VERB_GET] = {"GET", JSON, NAME_ALLOWED, false, false, false},
    [KIN_VERB_CREATE] = {"POST", JSON, NAME_ALLOWED, true, true, true},
    [KIN_VERB_UPDATE] = {"PUT", JSON, NAME_NEEDED, true, true, true},
    [KIN_VERB_PATCH_JSON] = {"PATCH", "application/json-patch+json",
                             NAME_NEEDED, true, true, true},
    [KIN_VERB_PATCH_MERGE] = {"PATCH", "application/merge-patch+json",
                              NAME_NEEDED, true, true, true},
    [KIN_VERB_PATCH_STRATEGIC] = {"PATCH",
                                  "application/strategic-merge-patch+json",
                                  NAME_NEEDED, true, true, true},
    [KIN_VERB_APPLY] = {"PATCH", "application/apply-patch+yaml", NAME_NEEDED,
                        true, true, true},
    [KIN_VERB_DELETE] = {"DELETE", JSON, NAME_NEEDED, true, false, true},
    [KIN_VERB_DELETE_COLLECTION] = {"DELETE", JSON, NAME_FORBIDDEN, true, false,
                                    true},
    [KIN_VERB_HEAD] = {"HEAD", JSON, NAME_FORBIDDEN, false, false, false},
    [KIN_VERB_OPTIONS] = {"OPTIONS", JSON, NAME_FORBIDDEN, false, false, false},
};
#define VERBS (sizeof verb_rules / sizeof verb_rules[0])

static const verb_rule *rule_of(const kin_request_spec *spec) {
  return &verb_rules[spec->verb];
}

static bool is_delete(const kin_request_spec *spec) {
  return spec->verb == KIN_VERB_DELETE ||
         spec->verb == KIN_VERB_DELETE_COLLECTION;
}

static bool has_delete_options(const kin_request_spec *spec) {
  return spec->precondition_uid != NULL || spec->precondition_version != NULL ||
         spec->propagation != KIN_PROPAGATION_DEFAULT || spec->has_grace_period;
}

/* --- Checks --------------------------------------------------------------- */

/* Any path segment that a server can take for one (RQ-03). */
static int check_segment(const char *name, kin_str s, const kin__log *log) {
  const char *why = NULL;
  if (s.length == 0) {
    why = "is empty";
  } else if (kin__str_equal(s, KIN__LIT(".")) ||
             kin__str_equal(s, KIN__LIT(".."))) {
    why = "is no name";
  } else if (memchr(s.data, '/', s.length) != NULL ||
             memchr(s.data, '%', s.length) != NULL) {
    why = "has a '/' or '%'";
  }
  if (why == NULL) {
    return 0;
  }
  s = kin__str_cut(s, 80); /* a long one would leave no room for the reason */
  return kin__log_problem(log, KIN_EINVAL, "%s: \"" KIN_STR_FORMAT "\" %s",
                          name, KIN_STR_ARG(s), why);
}

static kin_str next_segment(const char **rest) {
  size_t length = strcspn(*rest, "/");
  kin_str segment = kin__str(*rest, length);
  *rest += length;
  return segment;
}

static int check_subresource(const char *s, const kin__log *log) {
  int err = 0;
  bool has_more = true;
  while (err == 0 && has_more) {
    err = check_segment("subresource", next_segment(&s), log);
    has_more = *s++ == '/';
  }
  return err;
}

static int check_group(const kin_request_spec *spec, const kin__log *log) {
  const char *version = kin__or_default(spec->version, "v1");
  const char *group = kin__or_default(spec->group, "");
  if (group[0] != '\0' && !kin__segment_is_valid(group)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "group: \"%.80s\" is no group name", group);
  }
  if (!kin__segment_is_valid(version)) {
    return kin__log_problem(log, KIN_EINVAL, "version: \"%.80s\" is no version",
                            version);
  }
  if (spec->plural == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "plural, or path: is required");
  }
  if (!kin__segment_is_valid(spec->plural)) {
    return kin__log_problem(
        log, KIN_EINVAL, "plural: \"%.80s\" is no resource name", spec->plural);
  }
  return 0;
}

static int check_namespace(const kin_request_spec *spec, const kin__log *log) {
  const char *namespace_ = spec->namespace_;
  if (namespace_ == NULL) {
    return 0;
  }
  if (namespace_[0] == '\0') {
    return spec->verb == KIN_VERB_GET && spec->name == NULL
               ? 0
               : kin__log_problem(log, KIN_EINVAL,
                                  "namespace_: is empty; all namespaces can "
                                  "only be listed");
  }
  return check_segment("namespace_", kin__cstr(namespace_), log);
}

static int check_name(const kin_request_spec *spec, const kin__log *log) {
  naming name = rule_of(spec)->name;
  if (spec->name == NULL) {
    if (name == NAME_NEEDED) {
      return kin__log_problem(log, KIN_EINVAL, "name: the verb needs one");
    }
    return spec->subresource == NULL
               ? 0
               : kin__log_problem(log, KIN_EINVAL,
                                  "subresource: \"%.80s\" needs a name",
                                  spec->subresource);
  }
  if (name == NAME_FORBIDDEN) {
    return kin__log_problem(log, KIN_EINVAL, "name: not with this verb");
  }
  int err = check_segment("name", kin__cstr(spec->name), log);
  if (err != 0) {
    return err;
  }
  if (spec->verb == KIN_VERB_CREATE && spec->subresource == NULL) {
    return kin__log_problem(log, KIN_EINVAL,
                            "name: to create, the body has the name");
  }
  return spec->subresource != NULL ? check_subresource(spec->subresource, log)
                                   : 0;
}

static int check_place(const kin_request_spec *spec, const kin__log *log) {
  if (spec->path != NULL) {
    if (spec->group != NULL || spec->version != NULL || spec->plural != NULL ||
        spec->namespace_ != NULL || spec->name != NULL ||
        spec->subresource != NULL) {
      return kin__log_problem(log, KIN_EINVAL,
                              "path: not together with a resource");
    }
    return kin__request_is_target(spec->path)
               ? 0
               : kin__log_problem(
                     log, KIN_EINVAL,
                     "path: \"%.80s\" does not begin with '/', or is "
                     "not percent-encoded",
                     spec->path);
  }
  if (spec->verb == KIN_VERB_HEAD || spec->verb == KIN_VERB_OPTIONS) {
    return kin__log_problem(log, KIN_EINVAL, "path: the verb needs one");
  }
  int err = check_group(spec, log);
  if (err == 0) {
    err = check_namespace(spec, log);
  }
  return err == 0 ? check_name(spec, log) : err;
}

static bool is_own_parameter(const char *name) {
  static const char *const own[] = {"dryRun", "fieldManager", "fieldValidation",
                                    "force",  "timeout",      "watch"};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    if (strcmp(own[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static int check_parameters(const kin_request_spec *spec, const kin__log *log) {
  size_t count = spec->parameter_count;
  if (count > KIN__MAX_PARAMETERS || (count > 0 && spec->parameters == NULL)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "parameters: NULL, or more than %u",
                            KIN__MAX_PARAMETERS);
  }
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = spec->parameters[i].name;
    if (!kin__has_text(name)) {
      return kin__log_problem(log, KIN_EINVAL, "parameters[%zu] has no name",
                              i);
    }
    if (is_own_parameter(name)) {
      return kin__log_problem(
          log, KIN_EINVAL, "parameters: \"%s\" is not for the program", name);
    }
    bytes +=
        strlen(name) + strlen(kin__or_default(spec->parameters[i].value, ""));
  }
  return bytes <= MAX_PARAMETER_BYTES
             ? 0
             : kin__log_problem(log, KIN_EINVAL,
                                "parameters: %zu bytes are more than %u", bytes,
                                MAX_PARAMETER_BYTES);
}

static int check_body(const kin_request_spec *spec, const kin__log *log) {
  const verb_rule *rule = rule_of(spec);
  if (spec->body_length > 0 && spec->body == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "body: is NULL");
  }
  if (spec->body_length > MAX_BODY_BYTES) {
    return kin__log_problem(log, KIN_ETOOBIG,
                            "body_length: %zu bytes are more than %u",
                            spec->body_length, MAX_BODY_BYTES);
  }
  if (spec->body_length > 0 && !rule->takes_body) {
    return kin__log_problem(log, KIN_EINVAL, "body: not with %s", rule->method);
  }
  if (spec->body_length > 0 && is_delete(spec) &&
      (has_delete_options(spec) || spec->dry_run)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "body: not together with options of a deletion");
  }
  const char *types[] = {spec->content_type, spec->accept};
  for (size_t i = 0; i < 2; i++) {
    if (types[i] != NULL &&
        (types[i][0] == '\0' || strlen(types[i]) > MAX_MEDIA_TYPE_BYTES ||
         !kin__request_is_field(types[i]))) {
      return kin__log_problem(log, KIN_EINVAL, "%s: is no media type",
                              i == 0 ? "content_type" : "accept");
    }
  }
  return 0;
}

static int check_write(const kin_request_spec *spec, const kin__log *log) {
  const verb_rule *rule = rule_of(spec);
  if (spec->verb == KIN_VERB_APPLY &&
      kin__or_default(spec->field_manager, "")[0] == '\0') {
    return kin__log_problem(log, KIN_EINVAL,
                            "field_manager: an apply needs one");
  }
  if (spec->force && spec->verb != KIN_VERB_APPLY) {
    return kin__log_problem(log, KIN_EINVAL, "force: only with an apply");
  }
  if ((spec->field_manager != NULL || spec->field_validation != NULL) &&
      !rule->takes_manager) {
    return kin__log_problem(log, KIN_EINVAL,
                            "field_manager, field_validation: not with %s",
                            rule->method);
  }
  if (spec->dry_run && !rule->is_write) {
    return kin__log_problem(log, KIN_EINVAL, "dry_run: not with %s",
                            rule->method);
  }
  if (has_delete_options(spec) && !is_delete(spec)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "preconditions, propagation, grace period: not "
                            "with %s",
                            rule->method);
  }
  return (unsigned)spec->propagation <= KIN_PROPAGATION_FOREGROUND
             ? 0
             : kin__log_problem(log, KIN_EINVAL, "propagation: unknown");
}

static int check_limits(const kin_request_spec *spec, const kin__log *log) {
  if (spec->max_response_bytes > KIN__MAX_RESPONSE_BYTES) {
    return kin__log_problem(log, KIN_EINVAL,
                            "max_response_bytes: %zu is more than %u",
                            spec->max_response_bytes, KIN__MAX_RESPONSE_BYTES);
  }
  return spec->max_retries <= KIN__MAX_RETRIES
             ? 0
             : kin__log_problem(log, KIN_EINVAL,
                                "max_retries: %u is more than %u",
                                spec->max_retries, KIN__MAX_RETRIES);
}

static int check(const kin_request_spec *spec, const kin__log *log) {
  if ((unsigned)spec->verb >= VERBS) {
    return kin__log_problem(log, KIN_EINVAL, "verb: unknown");
  }
  int (*const checks[])(const kin_request_spec *, const kin__log *) = {
      check_limits, check_place, check_parameters, check_body, check_write};
  int err = 0;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0] && err == 0; i++) {
    err = checks[i](spec, log);
  }
  return err;
}

/* --- The target ----------------------------------------------------------- */

static int append_segment(kin__buf *out, kin_str segment) {
  int err = kin__buf_append(out, "/", 1);
  return err == 0 ? kin__target_append_escaped(out, segment) : err;
}

static int append_subresource(kin__buf *out, const char *subresource) {
  int err = 0;
  while (subresource != NULL && err == 0) {
    err = append_segment(out, next_segment(&subresource));
    subresource = *subresource == '/' ? subresource + 1 : NULL;
  }
  return err;
}

/* RQ-02. */
static int append_resource(kin__buf *out, const kin_request_spec *spec) {
  const char *group = kin__or_default(spec->group, "");
  const char *namespace_ = kin__or_default(spec->namespace_, "");
  const char *const parts[] = {group[0] == '\0' ? "api" : "apis",
                               group,
                               kin__or_default(spec->version, "v1"),
                               namespace_[0] == '\0' ? "" : "namespaces",
                               namespace_,
                               spec->plural,
                               kin__or_default(spec->name, "")};
  int err = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && err == 0; i++) {
    if (parts[i][0] != '\0') {
      err = append_segment(out, kin__cstr(parts[i]));
    }
  }
  return err == 0 ? append_subresource(out, spec->subresource) : err;
}

/* As Go writes a duration: "7m3s", "1h0m0s", "1.5s", "20ms" (RQ-05). */
static void write_duration(char *to, size_t size, uint32_t ms) {
  uint32_t s = ms / 1000;
  uint32_t minutes = s / 60;
  char rest[16];
  if (ms < 1000) {
    snprintf(to, size, "%" PRIu32 "ms", ms);
    return;
  }
  snprintf(rest, sizeof rest, ".%03" PRIu32, ms % 1000);
  for (size_t end = 4; end > 0 && (rest[end - 1] == '0' || end == 1); end--) {
    rest[end - 1] = '\0'; /* zeros at the end, and then the point */
  }
  if (minutes >= 60) {
    snprintf(to, size, "%" PRIu32 "h%" PRIu32 "m%" PRIu32 "%ss", minutes / 60,
             minutes % 60, s % 60, rest);
  } else if (minutes > 0) {
    snprintf(to, size, "%" PRIu32 "m%" PRIu32 "%ss", minutes, s % 60, rest);
  } else {
    snprintf(to, size, "%" PRIu32 "%ss", s, rest);
  }
}

#define MAX_OWN_PARAMETERS 5u

static int append_parameters(kin__buf *out, const kin_request_spec *spec) {
  char timeout[32] = "";
  if (spec->timeout_ms > 0 && spec->timeout_ms != KIN_NEVER) {
    write_duration(timeout, sizeof timeout, spec->timeout_ms);
  }
  /* A deletion's are in its body. */
  bool is_dry = spec->dry_run && !is_delete(spec);
  const kin_parameter own[MAX_OWN_PARAMETERS] = {
      {"dryRun", is_dry ? "All" : ""},
      {"fieldManager", kin__or_default(spec->field_manager, "")},
      {"fieldValidation", kin__or_default(spec->field_validation, "")},
      {"force", spec->force ? "true" : ""},
      {"timeout", timeout},
  };
  kin_parameter sorted[MAX_OWN_PARAMETERS + KIN__MAX_PARAMETERS];
  size_t count = 0;
  for (size_t i = 0; i < MAX_OWN_PARAMETERS; i++) {
    if (own[i].value[0] != '\0') {
      sorted[count++] = own[i];
    }
  }
  for (size_t i = 0; i < spec->parameter_count; i++) {
    kin__parameters_insert(sorted, &count, &spec->parameters[i]);
  }
  bool has_query = spec->path != NULL && strchr(spec->path, '?') != NULL;
  return kin__parameters_append(out, sorted, count, has_query ? '&' : '?');
}

static int compose_target(kin__buf *out, const kin_request_spec *spec) {
  int err = spec->path != NULL ? kin__buf_append_cstr(out, spec->path)
                               : append_resource(out, spec);
  if (err == 0) {
    err = append_parameters(out, spec);
  }
  return err == 0 ? kin__buf_append(out, "", 1) : err;
}

/* --- The body ------------------------------------------------------------- */

static int append_quoted(kin__buf *out, const char *text) {
  kin_str plain = kin__cstr(text);
  int err = kin__buf_reserve(out, kin__text_quoted_bound(plain.length));
  if (err == 0) {
    out->length += kin__text_quote(out->data + out->length, plain);
  }
  return err;
}

static int append_member(kin__buf *out, const char *before, const char *value) {
  if (value == NULL) {
    return 0;
  }
  int err = kin__buf_append_cstr(out, before);
  return err == 0 ? append_quoted(out, value) : err;
}

static int append_preconditions(kin__buf *out, const kin_request_spec *spec) {
  const char *uid = spec->precondition_uid;
  const char *version = spec->precondition_version;
  if (uid == NULL && version == NULL) {
    return 0;
  }
  int err = kin__buf_append_cstr(out, ",\"preconditions\":{");
  if (err == 0) {
    err = append_member(out, "\"uid\":", uid);
  }
  if (err == 0) {
    err = append_member(
        out, uid != NULL ? ",\"resourceVersion\":" : "\"resourceVersion\":",
        version);
  }
  return err == 0 ? kin__buf_append(out, "}", 1) : err;
}

static int compose_delete(kin__buf *out, const kin_request_spec *spec) {
  static const char *const policies[] = {NULL, "Orphan", "Background",
                                         "Foreground"};
  if (!is_delete(spec) || (!has_delete_options(spec) && !spec->dry_run)) {
    return 0;
  }
  int err = kin__buf_append_cstr(
      out, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"");
  if (err == 0 && spec->has_grace_period) {
    err = kin__buf_printf(out, ",\"gracePeriodSeconds\":%" PRIu32,
                          spec->grace_period_s);
  }
  if (err == 0) {
    err = append_preconditions(out, spec);
  }
  if (err == 0) {
    err = append_member(out,
                        ",\"propagationPolicy\":", policies[spec->propagation]);
  }
  if (err == 0 && spec->dry_run) {
    err = kin__buf_append_cstr(out, ",\"dryRun\":[\"All\"]");
  }
  return err == 0 ? kin__buf_append(out, "}", 1) : err;
}

static int compose_body(kin__composed *composed, const kin_request_spec *spec) {
  return spec->body_length > 0
             ? kin__buf_append(&composed->body, spec->body, spec->body_length)
             : compose_delete(&composed->body, spec);
}

static int compose_types(kin__composed *composed,
                         const kin_request_spec *spec) {
  const char *accept = kin__or_default(spec->accept, JSON ", */*"); /* RQ-06 */
  const char *content_type =
      kin__or_default(spec->content_type, rule_of(spec)->content_type);
  int err = kin__buf_append(&composed->types, accept, strlen(accept) + 1);
  if (err == 0) {
    err = kin__buf_append(&composed->types, content_type,
                          strlen(content_type) + 1);
  }
  if (err == 0) {
    composed->accept = composed->types.data;
    composed->content_type = composed->accept + strlen(accept) + 1;
  }
  return err;
}

/* --- The whole ------------------------------------------------------------ */

void kin__composed_init(kin__composed *composed,
                        const kin_allocator *allocator) {
  *composed = (kin__composed){.method = NULL};
  kin__buf_init(&composed->target, allocator, MAX_TARGET_BYTES);
  kin__buf_init(&composed->body, allocator, MAX_BODY_BYTES);
  kin__buf_init(&composed->types, allocator, 2 * (MAX_MEDIA_TYPE_BYTES + 1));
}

void kin__composed_finish(kin__composed *composed) {
  kin__buf_finish(&composed->target);
  kin__buf_finish(&composed->body);
  kin__buf_finish(&composed->types);
}

int kin__compose(kin__composed *composed, const kin_request_spec *spec,
                 const kin__log *log) {
  int err = check(spec, log);
  if (err != 0) {
    return err;
  }
  composed->method = rule_of(spec)->method;
  err = compose_target(&composed->target, spec);
  if (err == KIN_ETOOBIG) {
    return kin__log_problem(log, err, "path: over %u bytes with its query",
                            MAX_TARGET_BYTES);
  }
  if (err == 0) {
    err = compose_body(composed, spec);
  }
  if (err == KIN_ETOOBIG) {
    return kin__log_problem(log, err, "preconditions: are too long");
  }
  return err == 0 ? compose_types(composed, spec) : err;
}

void kin__composed_describe(const kin__composed *composed, char *to,
                            size_t size) {
  const char *target = composed->target.data;
  snprintf(to, size, "%s %.*s", composed->method, (int)strcspn(target, "?"),
           target);
}
