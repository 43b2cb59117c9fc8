/* SPDX-License-Identifier: MIT */
#include "feed/settings.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/str.h"
#include "feed/feed.h"
#include "object/dictionary.h"
#include "object/json.h"

#define DEFAULT_OBJECT_BYTES (16u << 20)
#define MAX_OBJECT_BYTES (1u << 30)
#define MAX_STALE_AFTER_MS (3600u * 1000u)
#define MAX_INTERNAL_ERROR_RETRY_MS (24u * 3600u * 1000u)

/* The names seen so far, by hash: their places, counted from 1. */
#define SEEN_PLACES (2 * KIN__NAMESPACES_MAX)
typedef struct names_seen {
  kin__hash_seed seed;
  uint16_t places[SEEN_PLACES];
} names_seen;

static bool is_named_before(names_seen *seen, const char *const *names,
                            size_t i) {
  uint32_t at = kin__hash(&seen->seed, kin__cstr(names[i])) % SEEN_PLACES;
  while (seen->places[at] != 0) {
    if (strcmp(names[seen->places[at] - 1], names[i]) == 0) {
      return true;
    }
    at = (at + 1) % SEEN_PLACES;
  }
  seen->places[at] = (uint16_t)(i + 1);
  return false;
}

/* Logs why and returns KIN_EINVAL, as all checks below. */
static int refuse(const kin__log *log, const char *name, const char *value,
                  const char *why) {
  return value != NULL ? kin__log_problem(log, KIN_EINVAL, "%s: \"%.80s\" %s",
                                          name, value, why)
                       : kin__log_problem(log, KIN_EINVAL, "%s: is NULL", name);
}

int kin__namespaces_check(const char *const *names, size_t count,
                          const kin__log *log) {
  if (count > KIN__NAMESPACES_MAX) {
    return kin__log_problem(log, KIN_EINVAL, "namespaces: %zu are more than %u",
                            count, KIN__NAMESPACES_MAX);
  }
  if (count == 0) {
    return 0;
  }
  if (names == NULL) {
    return refuse(log, "namespaces", NULL, NULL);
  }
  names_seen seen = {.seed = kin__hash_make_seed(names)};
  for (size_t i = 0; i < count; i++) {
    if (names[i] == NULL || !kin__segment_is_valid(names[i])) {
      return refuse(log, "namespaces", names[i], "is no namespace name");
    }
    if (is_named_before(&seen, names, i)) {
      return refuse(log, "namespaces", names[i], "is named twice");
    }
  }
  return 0;
}

static int check_start(const kin_informer_options *options,
                       const kin__log *log) {
  const char *version = options->start_version;
  switch (options->consistency) {
  case KIN_CONSISTENCY_ANY:
  case KIN_CONSISTENCY_MOST_RECENT:
    return version == NULL
               ? 0
               : refuse(log, "start_version", version,
                        "needs the consistency KIN_CONSISTENCY_AT_LEAST");
  case KIN_CONSISTENCY_AT_LEAST: {
    bool is_valid = kin__has_text(version) && strcmp(version, "0") != 0 &&
                    strlen(version) < KIN__VERSION_SIZE;
    return is_valid ? 0
                    : refuse(log, "start_version", version,
                             "is no version of 1 to 63 bytes but \"0\"");
  }
  }
  return kin__log_problem(log, KIN_EINVAL, "consistency: there is no value %d",
                          (int)options->consistency);
}

static int check_resource(const kin_informer_options *options,
                          const kin__log *log) {
  const char *group = options->group;
  if (kin__has_text(group) && !kin__segment_is_valid(group)) {
    return refuse(log, "group", group, "is no API group");
  }
  const char *version = options->version;
  if (version != NULL && !kin__segment_is_valid(version)) {
    return refuse(log, "version", version, "is no API version");
  }
  const char *plural = options->plural;
  if (plural == NULL || !kin__segment_is_valid(plural)) {
    return refuse(log, "plural", plural,
                  "is no resource name (the plural, in lower case)");
  }
  return 0;
}

static int check_query(const kin_informer_options *options,
                       const kin__log *log) {
  if (!kin__selector_is_valid(options->label_selector)) {
    return kin__log_problem(log, KIN_EINVAL, "label_selector: over 64 KiB");
  }
  if (!kin__selector_is_valid(options->field_selector)) {
    return kin__log_problem(log, KIN_EINVAL, "field_selector: over 64 KiB");
  }
  const kin_parameter *parameters = options->parameters;
  size_t count = options->parameter_count;
  if (kin__parameters_are_valid(parameters, count)) {
    return 0;
  }
  for (size_t i = 0; parameters != NULL && i < count; i++) {
    const char *name = parameters[i].name;
    if (!kin__parameters_are_valid(&parameters[i], 1)) {
      return refuse(log, "parameters", name,
                    name == NULL || name[0] == '\0' ? "is empty"
                    : kin__target_is_own_parameter(name)
                        ? "is set by the library itself"
                        : "is over 16 KiB");
    }
  }
  return kin__log_problem(log, KIN_EINVAL,
                          "parameters: %zu are too many, over 16 KiB, or NULL",
                          count);
}

static int check_fields(const kin_informer_options *options,
                        const kin__log *log) {
  if (options->field_count > 0 && options->fields == NULL) {
    return refuse(log, "fields", NULL, NULL);
  }
  for (size_t i = 0; i < options->field_count; i++) {
    const char *field = options->fields[i];
    if (field == NULL || !kin__json_pointer_is_valid(field)) {
      return refuse(
          log, "fields", field,
          "is no JSON Pointer of up to 64 tokens, such as \"/spec/nodeName\"");
    }
  }
  return 0;
}

int kin__settings_check_shard(const kin__resource *resource,
                              const kin__shard *shard, const kin__log *log) {
  if (!kin__shard_is_valid(shard)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "shard_index: no shard %" PRIu32 " of %" PRIu32,
                            shard->index, shard->count);
  }
  for (size_t i = 0; kin__shard_is_part(shard) && i < resource->parameter_count;
       i++) {
    if (strcmp(resource->parameters[i].name, KIN__SHARD_PARAMETER) == 0) {
      return refuse(log, "parameters", KIN__SHARD_PARAMETER,
                    "is set by shard_count");
    }
  }
  return 0;
}

static int check_numbers(const kin_informer_options *options,
                         const kin__log *log) {
  const struct {
    const char *name;
    uint32_t value;
    uint32_t max;
  } limits[] = {
      {"stale_after_ms", options->stale_after_ms, MAX_STALE_AFTER_MS},
      {"internal_error_retry_ms", options->internal_error_retry_ms,
       MAX_INTERNAL_ERROR_RETRY_MS},
      {"max_object_bytes", options->max_object_bytes, MAX_OBJECT_BYTES}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    if (limits[i].value > limits[i].max) {
      return kin__log_problem(log, KIN_EINVAL,
                              "%s: %" PRIu32 " is more than %" PRIu32,
                              limits[i].name, limits[i].value, limits[i].max);
    }
  }
  return 0;
}

static int check_compact(const kin_informer_options *options,
                         const kin__log *log) {
  switch (options->compact) {
  case KIN_COMPACT_OFF:
    return 0;
  case KIN_COMPACT_FAST:
  case KIN_COMPACT_SMALL:
    return kin__pack_is_supported()
               ? 0
               : kin__log_problem(log, KIN_ENOTSUP,
                                  "compact: this build has no zstd");
  }
  return kin__log_problem(log, KIN_EINVAL, "compact: there is no value %d",
                          (int)options->compact);
}

/* The first option that is set but has no effect here, or NULL. */
static const char *beyond_reflector(const kin_informer_options *options) {
  return options->resync_ms != 0         ? "resync_ms"
         : options->fixed_indices        ? "fixed_indices"
         : options->on_error != NULL     ? "on_error"
         : options->on_state != NULL     ? "on_state"
         : options->on_closed != NULL    ? "on_closed"
         : options->on_mutation != NULL  ? "on_mutation"
         : options->transform != NULL    ? "transform"
         : options->clear_when_absent    ? "clear_when_absent"
         : options->compact != 0         ? "compact"
         : options->drop_labels          ? "drop_labels"
         : options->skip_unchanged       ? "skip_unchanged"
         : options->max_bytes != 0       ? "max_bytes"
         : options->on_max_bytes != NULL ? "on_max_bytes"
         : options->shard_count != 0     ? "shard_count"
                                         : NULL;
}

static const char *beyond_pager(const kin_informer_options *options) {
  return options->consistency != 0               ? "consistency"
         : options->stale_after_ms != 0          ? "stale_after_ms"
         : options->internal_error_retry_ms != 0 ? "internal_error_retry_ms"
                                                 : NULL;
}

static int check_user(const kin_informer_options *options,
                      kin__settings_user user, const kin__log *log) {
  if (user == KIN__SETTINGS_INFORMER) {
    return 0;
  }
  if (options->namespace_count > 1) {
    return kin__log_problem(log, KIN_EINVAL,
                            "resource: %zu namespaces are more than one",
                            options->namespace_count);
  }
  const char *name = NULL;
  if (user == KIN__SETTINGS_WATCHER && options->page_size != 0) {
    name = "page_size";
  }
  if (name == NULL) {
    name = beyond_reflector(options);
  }
  if (name == NULL && user != KIN__SETTINGS_REFLECTOR) {
    name = beyond_pager(options);
  }
  return name == NULL
             ? 0
             : kin__log_problem(log, KIN_EINVAL,
                                "resource: %s has no meaning here", name);
}

static int check(const kin_informer_options *options, const kin__log *log) {
  int err = check_resource(options, log);
  if (err == 0) {
    err = kin__namespaces_check(options->namespaces, options->namespace_count,
                                log);
  }
  if (err == 0) {
    err = check_query(options, log);
  }
  if (err == 0) {
    err = check_fields(options, log);
  }
  if (err == 0) {
    err = check_start(options, log);
  }
  if (err == 0) {
    err = check_compact(options, log);
  }
  return err == 0 ? check_numbers(options, log) : err;
}

/* Appends a copy of `s` to the block at *next. */
static char *put(char **next, const char *s) {
  size_t size = strlen(s) + 1;
  char *copy = memcpy(*next, s, size);
  *next += size;
  return copy;
}

#define RESOURCE_STRINGS 6u

static size_t count_bytes(const kin__settings *settings,
                          const kin_informer_options *options,
                          const char *const strings[RESOURCE_STRINGS],
                          const char *const *namespaces) {
  size_t total = settings->namespace_count * sizeof *settings->namespaces +
                 options->parameter_count * sizeof *options->parameters;
  for (size_t i = 0; i < RESOURCE_STRINGS; i++) {
    total += strlen(strings[i]) + 1;
  }
  for (size_t i = 0; i < settings->namespace_count; i++) {
    total += strlen(namespaces[i]) + 1;
  }
  for (size_t i = 0; i < options->parameter_count; i++) {
    const kin_parameter *parameter = &options->parameters[i];
    total += strlen(parameter->name) + 1;
    total += strlen(kin__or_default(parameter->value, "")) + 1;
  }
  return total;
}

static int copy_strings(kin__settings *settings, const kin_allocator *allocator,
                        const kin_informer_options *options) {
  static const char *const all_namespaces[] = {""};
  bool is_all = options->namespace_count == 0;
  const char *const *names = is_all ? all_namespaces : options->namespaces;
  settings->namespace_count = is_all ? 1 : options->namespace_count;
  const char *const strings[RESOURCE_STRINGS] = {
      kin__or_default(options->group, ""),
      kin__or_default(options->version, "v1"),
      options->plural,
      kin__or_default(options->label_selector, ""),
      kin__or_default(options->field_selector, ""),
      kin__or_default(options->start_version, "")};
  settings->namespaces =
      kin__malloc(allocator, count_bytes(settings, options, strings, names));
  if (settings->namespaces == NULL) {
    return KIN_ENOMEM;
  }
  kin_parameter *parameters =
      (kin_parameter *)(void *)(settings->namespaces +
                                settings->namespace_count);
  char *next = (char *)(parameters + options->parameter_count);
  settings->resource = (kin__resource){
      .group = put(&next, strings[0]),
      .version = put(&next, strings[1]),
      .plural = put(&next, strings[2]),
      .label_selector = put(&next, strings[3]),
      .field_selector = put(&next, strings[4]),
      .metadata_only = options->metadata_only,
      .parameters = parameters,
      .parameter_count = options->parameter_count,
      .modify = options->modify,
      .modify_data = options->modify_data,
      .shard = {options->shard_index,
                options->shard_count > 0 ? options->shard_count : 1}};
  settings->start_version = put(&next, strings[5]);
  for (size_t i = 0; i < settings->namespace_count; i++) {
    settings->namespaces[i] = put(&next, names[i]);
  }
  for (size_t i = 0; i < options->parameter_count; i++) {
    const kin_parameter *parameter = &options->parameters[i];
    parameters[i].name = put(&next, parameter->name);
    parameters[i].value = put(&next, kin__or_default(parameter->value, ""));
  }
  return 0;
}

static int make_projection(kin__settings *settings,
                           const kin_allocator *allocator,
                           const kin_informer_options *options) {
  if (options->field_count == 0 && !options->drop_labels) {
    settings->projection =
        kin__projection_default(options->keep_managed_fields);
    return 0;
  }
  kin__projection *own;
  int err =
      options->field_count > 0
          ? kin__projection_new_fields(&own, allocator, options->fields,
                                       options->field_count)
          : kin__projection_new(&own, allocator, options->keep_managed_fields);
  settings->projection = own;
  return err == 0 && options->drop_labels ? kin__projection_drop_labels(own)
                                          : err;
}

static kin__kept_options keep(const kin_informer_options *options) {
  return (kin__kept_options){.on_error = options->on_error,
                             .on_state = options->on_state,
                             .on_mutation = options->on_mutation,
                             .on_max_bytes = options->on_max_bytes,
                             .data = options->data,
                             .transform = options->transform,
                             .transform_data = options->transform_data,
                             .consistency = options->consistency,
                             .compact = options->compact,
                             .page_size = options->page_size,
                             .stale_after_ms = options->stale_after_ms,
                             .internal_error_retry_ms =
                                 options->internal_error_retry_ms,
                             .drop_labels = options->drop_labels,
                             .skip_unchanged = options->skip_unchanged,
                             .clear_when_absent = options->clear_when_absent,
                             .no_watch_list = options->no_watch_list,
                             .fixed_indices = options->fixed_indices};
}

static int copy_source(kin__settings *settings, const kin_allocator *allocator,
                       const kin__log *log,
                       const kin_informer_options *options) {
  if (options->source == NULL) {
    return 0;
  }
  settings->source = kin__malloc(allocator, sizeof *settings->source);
  return settings->source == NULL
             ? KIN_ENOMEM
             : kin__lister_watcher_copy(settings->source, options->source, log);
}

static int copy(kin__settings *settings, const kin_allocator *allocator,
                const kin__log *log, const kin_informer_options *options) {
  settings->options = keep(options);
  settings->options.drop_labels &= options->source == NULL;
  settings->limits.max_object_bytes = options->max_object_bytes != 0
                                          ? options->max_object_bytes
                                          : DEFAULT_OBJECT_BYTES;
  int err = copy_source(settings, allocator, log, options);
  if (err == 0) {
    err = copy_strings(settings, allocator, options);
  }
  if (err == 0) {
    err = kin__settings_check_shard(&settings->resource,
                                    &settings->resource.shard, log);
  }
  if (err != 0) {
    return err;
  }
  err = make_projection(settings, allocator, options);
  return err == KIN_EINVAL
             ? kin__log_problem(
                   log, err,
                   "fields: one has over 64 parts, or a part over 65,535 bytes")
             : err;
}

int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin__log *log, const kin_informer_options *options,
                       kin__settings_user user, kin_informer_options *given) {
  *settings = (kin__settings){0};
  kin__log_no_problem(log);
  int err = kin__options_take(given, sizeof *given, options,
                              KIN__FIRST_SIZE(kin_informer_options),
                              "kin_informer_options", log);
  if (err == 0) {
    err = check(given, log);
  }
  if (err == 0) {
    err = check_user(given, user, log);
  }
  if (err == 0) {
    err = copy(settings, allocator, log, given);
  }
  if (err != 0) {
    kin__settings_finish(settings, allocator);
  }
  return err;
}

void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator) {
  kin__projection_free(settings->projection);
  kin__free(allocator, settings->source);
  kin__free(allocator, settings->namespaces);
  *settings = (kin__settings){0};
}
