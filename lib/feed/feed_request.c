/* SPDX-License-Identifier: MIT */
#include "feed/feed_request.h"

#include <kin/error.h>

#include "base/str.h"

/* Takes over only fields that leave the protocol intact. Another version or
 * token would make the answer useless. A watch may only get a shorter timeout,
 * because the feed gives the watch up some time after the requested one. */
static void take_over(kin_feed_request *request,
                      const kin_request_options *modified) {
  uint32_t timeout_s = modified->timeout_s;
  bool is_later = request->is_watch && request->timeout_s > 0 &&
                  (timeout_s == 0 || timeout_s > request->timeout_s);
  request->label_selector = kin__or_default(modified->label_selector, "");
  request->field_selector = kin__or_default(modified->field_selector, "");
  request->limit = request->is_watch ? 0 : modified->limit;
  request->timeout_s = is_later ? request->timeout_s : timeout_s;
  request->parameters = modified->parameters;
  request->parameter_count = modified->parameter_count;
}

static int modify(kin_feed_request *request, const kin__resource *resource) {
  kin_request_options options = {
      .size = sizeof options,
      .is_watch = request->is_watch,
      .send_initial_events = request->send_initial_events,
      .namespace_ = request->namespace_,
      .resource_version = request->resource_version,
      .resource_version_match = request->resource_version_match,
      .continue_token = request->continue_token,
      .label_selector = request->label_selector,
      .field_selector = request->field_selector,
      .limit = request->limit,
      .timeout_s = request->timeout_s,
      .parameters = request->parameters,
      .parameter_count = request->parameter_count};
  int err = resource->modify(&options, resource->modify_data);
  if (err != 0) {
    return err < 0 ? err : KIN_EINVAL;
  }
  bool is_valid =
      kin__selector_is_valid(options.label_selector) &&
      kin__selector_is_valid(options.field_selector) &&
      kin__parameters_are_valid(options.parameters, options.parameter_count);
  if (!is_valid) {
    return KIN_EINVAL;
  }
  take_over(request, &options);
  return 0;
}

int kin__feed_request_complete(kin_feed_request *request,
                               const kin__resource *resource) {
  request->label_selector = resource->label_selector;
  request->field_selector = resource->field_selector;
  request->parameters = resource->parameters;
  request->parameter_count = resource->parameter_count;
  return resource->modify != NULL ? modify(request, resource) : 0;
}
