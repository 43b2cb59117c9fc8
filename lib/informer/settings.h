/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_SETTINGS_H
#define KIN_INFORMER_SETTINGS_H

#include <kin/informer.h>

#include "decode/projection.h"
#include "reflector/request.h"

/* An informer's options, checked and copied. */
typedef struct kin__settings {
  kin_informer_options options; /* numbers, flags and callbacks; the pointers to
                                 * strings in it are not to be used */
  kin__resource resource;
  char **namespaces; /* one "" for all namespaces */
  size_t namespace_count;
  kin__projection *projection;
  kin_lister_watcher source; /* .open NULL: HTTP */
  char *strings;             /* all of the above in one block */
} kin__settings;

/* Errors: see kin_informer_open. On an error there is nothing to finish. */
int kin__settings_init(kin__settings *settings, const kin_allocator *allocator,
                       const kin_informer_options *options);
void kin__settings_finish(kin__settings *settings,
                          const kin_allocator *allocator);

#endif /* KIN_INFORMER_SETTINGS_H */
