/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_SETTINGS_H
#define KIN_FEED_SETTINGS_H

#include <stdbool.h>

#include <kin/informer.h>

#include "base/log.h"
#include "decode/projection.h"
#include "decode/sink.h"
#include "listwatch/request.h"

/* Namespaces of one informer, at its opening and at any later time. */
#define KIN__NAMESPACES_MAX 1024u

/* An informer's options, checked and copied. */
typedef struct kin__settings {
  kin_informer_options options; /* Numbers, flags and callbacks. Do not use its
                                 * pointers to strings. */
  kin__resource resource;
  char **namespaces; /* one "" for all namespaces */
  size_t namespace_count;
  const char *start_version; /* "": none */
  kin_parameter *parameters; /* the resource's */
  const kin__projection *projection;
  kin__decode_limits limits;
  kin_lister_watcher source; /* .open NULL: HTTP */
  char *strings;             /* all of the above in one block */
} kin__settings;

/* Checks the namespaces of an informer: valid, no duplicates, not too many. The
 * log says what is wrong, here and in all functions below. Errors:
 * KIN_EINVAL. */
int kin__namespaces_check(const char *const *names, size_t count,
                          const kin__log *log);

/* Errors: see kin_informer_open. On an error there is nothing to finish. */
int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin__log *log,
                       const kin_informer_options *options);
void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator);

/* Whether requests for this resource can name this shard. Errors:
 * KIN_EINVAL. */
int kin__settings_check_shard(const kin__resource *resource,
                              const kin__shard *shard, const kin__log *log);

/* Accepts only options that describe one scope to list and watch: no options
 * for a store, listeners or reports. Errors: KIN_EINVAL. */
int kin__settings_check_resource(const kin__settings *settings,
                                 const kin__log *log);

/* As kin__settings_check_resource, for a list without a watch. */
int kin__settings_check_pages(const kin__settings *settings,
                              const kin__log *log);

/* As kin__settings_check_pages, for a watch without a list: page_size must be
 * unset too. */
int kin__settings_check_watch(const kin__settings *settings,
                              const kin__log *log);

#endif /* KIN_FEED_SETTINGS_H */
