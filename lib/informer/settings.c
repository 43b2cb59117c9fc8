/* SPDX-License-Identifier: MIT */
#include "informer/settings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/str.h"
#include "informer/feed.h"

#define MAX_NAMESPACES 1024u
#define MAX_SELECTOR_BYTES (64u << 10)
#define DEFAULT_OBJECT_BYTES (16u << 20)
#define MAX_OBJECT_BYTES (1u << 30)

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

static bool is_selector_valid(const char *selector) {
  return selector == NULL || strlen(selector) <= MAX_SELECTOR_BYTES;
}

static bool are_valid(const kin_informer_options *options) {
  bool is_group_valid = options->group == NULL || options->group[0] == '\0' ||
                        kin__segment_is_valid(options->group);
  bool is_version_valid =
      options->version == NULL || kin__segment_is_valid(options->version);
  return is_group_valid && is_version_valid && options->plural != NULL &&
         kin__segment_is_valid(options->plural) &&
         is_selector_valid(options->label_selector) &&
         is_selector_valid(options->field_selector) &&
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

static int copy_strings(kin__settings *settings, const kin_allocator *allocator,
                        const kin_informer_options *options) {
  static const char *const all_namespaces[] = {""};
  bool is_all = options->namespace_count == 0;
  const char *const *names = is_all ? all_namespaces : options->namespaces;
  settings->namespace_count = is_all ? 1 : options->namespace_count;
  const char *const strings[] = {kin__or_default(options->group, ""),
                                 kin__or_default(options->version, "v1"),
                                 options->plural,
                                 kin__or_default(options->label_selector, ""),
                                 kin__or_default(options->field_selector, "")};
  size_t total = 0;
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
    total += strlen(strings[i]) + 1;
  }
  for (size_t i = 0; i < settings->namespace_count; i++) {
    total += strlen(names[i]) + 1;
  }
  settings->strings = kin__malloc(allocator, total);
  settings->namespaces = kin__calloc(allocator, settings->namespace_count,
                                     sizeof *settings->namespaces);
  if (settings->strings == NULL || settings->namespaces == NULL) {
    return KIN_ENOMEM;
  }
  char *next = settings->strings;
  settings->resource = (kin__resource){.group = put(&next, strings[0]),
                                       .version = put(&next, strings[1]),
                                       .plural = put(&next, strings[2]),
                                       .label_selector = put(&next, strings[3]),
                                       .field_selector = put(&next, strings[4]),
                                       .metadata_only = options->metadata_only};
  for (size_t i = 0; i < settings->namespace_count; i++) {
    settings->namespaces[i] = put(&next, names[i]);
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
         options->transform == NULL;
}

void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator) {
  kin__projection_free(settings->projection);
  kin__free(allocator, settings->namespaces);
  kin__free(allocator, settings->strings);
  *settings = (kin__settings){0};
}
