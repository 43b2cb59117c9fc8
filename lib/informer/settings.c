/* SPDX-License-Identifier: MIT */
#include "informer/settings.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/str.h"
#include "informer/feed.h"

#define MAX_NAMESPACES 1024u
#define DEFAULT_OBJECT_BYTES (16u << 20)
#define MAX_OBJECT_BYTES (1u << 30)
#define MAX_STALE_AFTER_MS (3600u * 1000u)
#define MAX_INTERNAL_ERROR_RETRY_MS (24u * 3600u * 1000u)

static_assert(offsetof(kin_informer_options, start_version) +
                      sizeof(const char *) ==
                  sizeof(kin_informer_options),
              "a field appended later must not lie in old padding");

static bool is_unique(const char *const *names, size_t count, size_t i) {
  for (size_t j = 0; j < i && j < count; j++) {
    if (strcmp(names[i], names[j]) == 0) {
      return false;
    }
  }
  return true;
}

bool kin__namespaces_are_valid(const char *const *names, size_t count) {
  if (count > MAX_NAMESPACES || (count > 0 && names == NULL)) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (names[i] == NULL || !kin__segment_is_valid(names[i]) ||
        !is_unique(names, count, i)) {
      return false;
    }
  }
  return true;
}

static bool is_start_valid(const kin_informer_options *options) {
  const char *version = options->start_version;
  switch (options->consistency) {
  case KIN_CONSISTENCY_ANY:
  case KIN_CONSISTENCY_MOST_RECENT:
    return version == NULL;
  case KIN_CONSISTENCY_AT_LEAST:
    return version != NULL && version[0] != '\0' && strcmp(version, "0") != 0 &&
           strlen(version) < KIN__VERSION_SIZE;
  }
  return false;
}

static bool are_valid(const kin_informer_options *options) {
  bool is_group_valid = options->group == NULL || options->group[0] == '\0' ||
                        kin__segment_is_valid(options->group);
  bool is_version_valid =
      options->version == NULL || kin__segment_is_valid(options->version);
  return is_group_valid && is_version_valid && options->plural != NULL &&
         kin__segment_is_valid(options->plural) &&
         kin__selector_is_valid(options->label_selector) &&
         kin__selector_is_valid(options->field_selector) &&
         kin__parameters_are_valid(options->parameters,
                                   options->parameter_count) &&
         is_start_valid(options) &&
         options->stale_after_ms <= MAX_STALE_AFTER_MS &&
         options->internal_error_retry_ms <= MAX_INTERNAL_ERROR_RETRY_MS &&
         options->max_object_bytes <= MAX_OBJECT_BYTES &&
         (options->field_count == 0 || options->fields != NULL) &&
         kin__namespaces_are_valid(options->namespaces,
                                   options->namespace_count);
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
  size_t total = 0;
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

static int allocate(kin__settings *settings, const kin_allocator *allocator,
                    size_t string_bytes, size_t parameter_count) {
  settings->strings = kin__malloc(allocator, string_bytes);
  settings->namespaces = kin__calloc(allocator, settings->namespace_count,
                                     sizeof *settings->namespaces);
  if (parameter_count > 0) {
    settings->parameters =
        kin__calloc(allocator, parameter_count, sizeof *settings->parameters);
  }
  bool is_complete = settings->strings != NULL &&
                     settings->namespaces != NULL &&
                     (parameter_count == 0 || settings->parameters != NULL);
  return is_complete ? 0 : KIN_ENOMEM;
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
  int err = allocate(settings, allocator,
                     count_bytes(settings, options, strings, names),
                     options->parameter_count);
  if (err != 0) {
    return err;
  }
  char *next = settings->strings;
  settings->resource =
      (kin__resource){.group = put(&next, strings[0]),
                      .version = put(&next, strings[1]),
                      .plural = put(&next, strings[2]),
                      .label_selector = put(&next, strings[3]),
                      .field_selector = put(&next, strings[4]),
                      .metadata_only = options->metadata_only,
                      .parameters = settings->parameters,
                      .parameter_count = options->parameter_count,
                      .modify = options->modify,
                      .modify_data = options->modify_data};
  settings->start_version = put(&next, strings[5]);
  for (size_t i = 0; i < settings->namespace_count; i++) {
    settings->namespaces[i] = put(&next, names[i]);
  }
  for (size_t i = 0; i < options->parameter_count; i++) {
    const kin_parameter *parameter = &options->parameters[i];
    settings->parameters[i].name = put(&next, parameter->name);
    settings->parameters[i].value =
        put(&next, kin__or_default(parameter->value, ""));
  }
  return 0;
}

static int make_projection(kin__settings *settings,
                           const kin_allocator *allocator,
                           const kin_informer_options *options) {
  if (options->field_count > 0) {
    return kin__projection_new_fields(&settings->projection, allocator,
                                      options->fields, options->field_count);
  }
  return kin__projection_new(&settings->projection, allocator,
                             options->keep_managed_fields);
}

int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin_informer_options *options) {
  *settings = (kin__settings){0};
  int err = kin__options_copy(&settings->options, sizeof settings->options,
                              options, sizeof(kin_informer_options));
  if (err != 0) {
    return err;
  }
  if (!are_valid(&settings->options)) {
    return KIN_EINVAL;
  }
  if (settings->options.source != NULL) {
    err = kin__lister_watcher_copy(&settings->source, settings->options.source);
    if (err != 0) {
      return err;
    }
  }
  if (settings->options.max_object_bytes == 0) {
    settings->options.max_object_bytes = DEFAULT_OBJECT_BYTES;
  }
  err = copy_strings(settings, allocator, &settings->options);
  if (err == 0) {
    err = make_projection(settings, allocator, &settings->options);
  }
  if (err != 0) {
    kin__settings_finish(settings, allocator);
  }
  return err;
}

bool kin__settings_are_of_resource(const kin__settings *settings) {
  const kin_informer_options *options = &settings->options;
  return options->resync_ms == 0 && !options->fixed_indices &&
         options->on_error == NULL && options->on_state == NULL &&
         options->on_closed == NULL && options->on_mutation == NULL &&
         options->transform == NULL && !options->clear_when_absent;
}

bool kin__settings_are_of_watch(const kin__settings *settings) {
  const kin_informer_options *options = &settings->options;
  return kin__settings_are_of_resource(settings) && options->page_size == 0 &&
         options->consistency == KIN_CONSISTENCY_ANY &&
         options->stale_after_ms == 0 && options->internal_error_retry_ms == 0;
}

void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator) {
  kin__projection_free(settings->projection);
  kin__free(allocator, settings->parameters);
  kin__free(allocator, settings->namespaces);
  kin__free(allocator, settings->strings);
  *settings = (kin__settings){0};
}
