/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_SETTINGS_H
#define KIN_FEED_SETTINGS_H

#include <stdbool.h>

#include <kin/informer.h>

#include "base/log.h"
#include "decode/projection.h"
#include "decode/sink.h"
#include "listwatch/target.h"

/* Namespaces of one informer, at its opening and at any later time. */
#define KIN__NAMESPACES_MAX 1024u

/* The options that are read after the opening, with the names of
 * kin_informer_options. Most informers set few of them. */
typedef struct kin__kept_options {
  kin_error_cb on_error;
  kin_state_cb on_state;
  kin_informer_mutation_cb on_mutation;
  kin_max_bytes_cb on_max_bytes;
  void *data;
  kin_transform_cb transform;
  void *transform_data;
  kin_consistency consistency;
  kin_compact compact;
  uint32_t page_size;
  uint32_t stale_after_ms;
  uint32_t internal_error_retry_ms;
  bool drop_labels;
  bool skip_unchanged;
  bool clear_when_absent;
  bool no_watch_list;
  bool fixed_indices;
} kin__kept_options;

/* An informer's options, checked and copied. */
typedef struct kin__settings {
  kin__kept_options options;
  kin__resource resource;
  char **namespaces; /* one "" for all namespaces; begins a block with the
                      * parameters and all strings of the settings */
  size_t namespace_count;
  const char *start_version; /* "": none */
  const kin__projection *projection;
  kin_lister_watcher *source; /* NULL: HTTP */
  kin__decode_limits limits;
} kin__settings;

/* Users of settings. All but an informer refuse options without a meaning for
 * them: a reflector those of a store, listeners and reports; a pager also those
 * of a watch; a watcher also page_size. They have one scope. */
typedef enum kin__settings_user {
  KIN__SETTINGS_INFORMER,
  KIN__SETTINGS_REFLECTOR,
  KIN__SETTINGS_PAGER,
  KIN__SETTINGS_WATCHER
} kin__settings_user;

/* Checks the namespaces of an informer: valid, no duplicates, not too many. The
 * log says what is wrong, here and in all functions below. Errors:
 * KIN_EINVAL. */
int kin__namespaces_check(const char *const *names, size_t count,
                          const kin__log *log);

/* *given gets all options, with the program's strings. Errors: see
 * kin_informer_open. On an error there is nothing to finish. */
int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin__log *log, const kin_informer_options *options,
                       kin__settings_user user, kin_informer_options *given);
void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator);

/* Whether requests for this resource can name this shard. Errors:
 * KIN_EINVAL. */
int kin__settings_check_shard(const kin__resource *resource,
                              const kin__shard *shard, const kin__log *log);

#endif /* KIN_FEED_SETTINGS_H */
