/* SPDX-License-Identifier: MIT */
/* For a library without proxies (-Dproxy=false). */
#include "transport/proxy.h"

#include <stddef.h>

#include <kin/error.h>

#include "base/str.h"

bool kin__proxy_is_supported(void) {
  return false;
}

int kin__proxy_open(kin__proxy **out, const kin__proxy_options *options) {
  *out = NULL;
  return !kin__has_text(options->url)
             ? 0
             : kin__log_problem(
                   options->log, KIN_ENOTSUP,
                   "proxy_url: needs a library that was built with proxies");
}

void kin__proxy_free(kin__proxy *proxy, const kin_allocator *allocator) {
  (void)proxy;
  (void)allocator;
}

int kin__tunnel_new(kin__stream **out, const kin__proxy *proxy,
                    const kin_allocator *allocator) {
  (void)proxy;
  (void)allocator;
  *out = NULL;
  return KIN_ENOTSUP;
}

const char *kin__proxy_refusal(const kin__proxy *proxy, int status) {
  (void)proxy;
  (void)status;
  return "";
}
