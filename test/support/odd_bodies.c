/* SPDX-License-Identifier: MIT */
#include "support/odd_bodies.h"

#include <stddef.h>

#define STATUS(code, reason, message, details)                                 \
  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"     \
  "\"Failure\",\"message\":\"" message "\",\"reason\":\"" reason               \
  "\",\"details\":" details ",\"code\":" code "}"

const char *const odd_statuses[] = {
    STATUS("504", "Timeout", "Timeout: Too large resource version: 9, current",
           "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\","
           "\"message\":\"Too large resource version\"}],"
           "\"retryAfterSeconds\":1}"),
    STATUS("410", "Expired", "too old resource version", "{\"name\":\"x\"}"),
    STATUS("429", "TooManyRequests", "slow down", "{\"retryAfterSeconds\":2}"),
    NULL,
};
