/* SPDX-License-Identifier: MIT */
#include "feed/feed_options.h"

kin__feed_options kin__feed_options_of(const kin__feed_subject *subject) {
  const kin__env *env = subject->env;
  const kin__settings *settings = subject->settings;
  const kin__kept_options *options = &settings->options;
  kin__http_source *http = subject->http;
  kin__http_source_init(http, env, settings);
  if (subject->memory != NULL) {
    http->memory = subject->memory;
  }
  bool is_own = settings->source != NULL;
  kin__feed_options feed = {
      .env = env,
      .source = is_own ? settings->source : kin__http_source_lister_watcher(),
      .source_ctx = is_own ? settings->source->ctx : http,
      .is_own_source = is_own,
      .resource = &settings->resource,
      .namespace_ = subject->namespace_};
  if (subject->lists_and_watches) {
    feed.listwatch = (kin__listwatch_options){
        .mode = KIN__LIST_AND_WATCH,
        .list_and_watch = {
            .page_size = options->page_size,
            .consistency = options->consistency,
            .start_version = settings->start_version,
            .stream_refused =
                options->no_watch_list ? NULL : env->stream_refused,
            .internal_error_retry_ms = options->internal_error_retry_ms}};
    if (options->stale_after_ms > 0) {
      subject->silence->stale_after_ms = options->stale_after_ms;
      feed.silence = subject->silence;
    }
  }
  return feed;
}
