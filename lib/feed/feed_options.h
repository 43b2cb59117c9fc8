/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_FEED_OPTIONS_H
#define KIN_FEED_FEED_OPTIONS_H

#include <stdbool.h>

#include "client/env.h"
#include "feed/feed.h"
#include "feed/http_source.h"
#include "feed/settings.h"

/* A feed's subject: one namespace of an informer's options. All users of feeds
 * (scope, reflector, watcher, pager, check of lists) open a feed with this
 * struct. All pointers must outlive the feed. */
typedef struct kin__feed_subject {
  const kin__env *env;
  const kin__settings *settings;
  const char *namespace_;
  kin__http_source *http; /* initialized by kin__feed_options_of, used unless
                           * the settings have a source */
  kin__memory *memory;    /* for the objects of `http`; NULL: env's */
  kin__silence *silence;  /* needed if the settings have stale_after_ms */

  /* The feed lists and then watches: the settings for streams, consistency,
   * silence and internal errors hold. */
  bool lists_and_watches;
} kin__feed_subject;

/* The options of the feed, without an owner, and without options of the machine
 * unless the feed lists and watches. Allocates nothing. */
kin__feed_options kin__feed_options_of(const kin__feed_subject *subject);

#endif /* KIN_FEED_FEED_OPTIONS_H */
