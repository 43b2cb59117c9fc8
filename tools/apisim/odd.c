/* SPDX-License-Identifier: MIT */
#include "odd.h"

#include <stdio.h>
#include <string.h>

#include "status.h"

static const struct {
  unsigned code;
  const char *reason;
  const char *message;
} STATUS_KINDS[] = {
    {400, "BadRequest", "the request is invalid"},
    {401, "Unauthorized", "Unauthorized"},
    {403, "Forbidden", "access is forbidden"},
    {404, "NotFound", "the server could not find the requested resource"},
    {409, "Conflict", "the server reported a conflict"},
    {410, "Expired", "The resourceVersion for the provided list is too old."},
    {422, "Invalid",
     "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch "
     "unless the WatchList feature gate is enabled"},
    {429, "TooManyRequests", "Too many requests, please try again later."},
    {500, "InternalError", "Internal error occurred: injected fault"},
    {503, "ServiceUnavailable",
     "the server is currently unable to handle the request"},
    {504, "Timeout",
     "Timeout: request did not complete within the allotted "
     "timeout"},
};

enum { KIND_COUNT = sizeof STATUS_KINDS / sizeof STATUS_KINDS[0] };

const char *odd_message(unsigned code) {
  for (size_t i = 0; i < KIND_COUNT; i++) {
    if (STATUS_KINDS[i].code == code) {
      return STATUS_KINDS[i].message;
    }
  }
  return "an injected fault";
}

void odd_put_status(buf *out, unsigned code, const char *reason,
                    uint64_t retry_after) {
  char details[48];
  for (size_t i = 0; *reason == '\0' && i < KIND_COUNT; i++) {
    if (STATUS_KINDS[i].code == code) {
      reason = STATUS_KINDS[i].reason;
    }
  }
  snprintf(details, sizeof details, "{\"retryAfterSeconds\":%llu}",
           (unsigned long long)retry_after);
  status_put(out, (int)code, *reason != '\0' ? reason : NULL, odd_message(code),
             retry_after != 0 ? details : NULL);
}

void odd_put_error(buf *out, const char *body, unsigned code,
                   const char *reason, uint64_t retry_after) {
  buf_puts(out, "{\"type\":\"ERROR\"");
  if (strcmp(body, "object") == 0) {
    buf_puts(out, ",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"name\":\"odd\"}}");
  } else if (strcmp(body, "null") == 0) {
    buf_puts(out, ",\"object\":null");
  } else if (strcmp(body, "none") != 0) {
    buf_puts(out, ",\"object\":");
    odd_put_status(out, code, reason, retry_after);
  }
  buf_puts(out, "}\n");
}

static void put_large(buf *out, const resource *res, uint64_t version,
                      uint64_t bytes) {
  buf_printf(out, "\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{",
             res->kind, res->api_version);
  buf_puts(out, "\"name\":\"odd\",");
  buf_puts(out, res->namespaced ? "\"namespace\":\"ns-0\"," : "");
  buf_puts(out, "\"uid\":\"00000000-0000-4000-8000-000000000000\","
                "\"resourceVersion\":\"");
  buf_put_u64(out, version);
  buf_puts(out, "\",\"labels\":{\"odd\":\"yes\"},\"annotations\":{\"long\":\"");
  for (; bytes > 0; bytes--) {
    buf_putc(out, 'x');
  }
  buf_puts(out, "\"}}");
}

void odd_put_object(buf *out, const resource *res, const char *mode,
                    uint64_t version, uint64_t bytes) {
  buf_putc(out, '{');
  if (strcmp(mode, "table") == 0) {
    buf_puts(out, "\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
                  "\"metadata\":{},\"columnDefinitions\":[],\"rows\":[]");
  } else if (strcmp(mode, "large") == 0) {
    put_large(out, res, version, bytes != 0 ? bytes : 32u << 20);
  } else {
    buf_printf(out, "\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{",
               res->kind, res->api_version);
    buf_puts(out, "\"uid\":\"00000000-0000-4000-8000-000000000001\","
                  "\"resourceVersion\":\"");
    buf_put_u64(out, version);
    buf_puts(out, "\"}");
  }
  buf_putc(out, '}');
}
