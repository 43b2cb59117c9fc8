/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_SETTINGS_H
#define KIN_FEED_SETTINGS_H

#include <stdbool.h>

#include <kin/informer.h>

#include "base/log.h"
#include "decode/projection.h"
#include "listwatch/request.h"

/* An informer's options, checked and copied. */
typedef struct kin__settings {
  kin_informer_options options; /* numbers, flags and callbacks; the pointers to
                                 * strings in it are not to be used */
  kin__resource resource;
  char **namespaces; /* one "" for all namespaces */
  size_t namespace_count;
  const char *start_version; /* "" for none */
  kin_parameter *parameters; /* the resource's */
  kin__projection *projection;
  kin_lister_watcher source; /* .open NULL: HTTP */
  char *strings;             /* all of the above in one block */
} kin__settings;

/* Whether these can be the namespaces of an informer: valid, each named once,
 * and not too many. What is wrong is said in the log, as by all that follow.
 * Errors: KIN_EINVAL. */
int kin__namespaces_check(const char *const *names, size_t count,
                          const kin__log *log);

/* Errors: see kin_informer_open. On an error there is nothing to finish. */
int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin__log *log,
                       const kin_informer_options *options);
void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator);

/* Whether the options only say what is listed and watched, in one scope:
 * nothing is set that needs an informer's store or listeners, or would tell
 * somebody of it. Errors: KIN_EINVAL. */
int kin__settings_check_resource(const kin__settings *settings,
                                 const kin__log *log);

/* The same for a list without a watch. */
int kin__settings_check_pages(const kin__settings *settings,
                              const kin__log *log);

/* The same for a watch without a list: nothing is set either that says how
 * lists are made, what becomes of them, or when there is to be one. */
int kin__settings_check_watch(const kin__settings *settings,
                              const kin__log *log);

#endif /* KIN_FEED_SETTINGS_H */
