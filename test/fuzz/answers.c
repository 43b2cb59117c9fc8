/* SPDX-License-Identifier: MIT */
#include "fuzz/answers.h"

#include <inttypes.h>
#include <stdio.h>

#define PICK(in, table)                                                        \
  ((table)[fuzz_below(in, sizeof(table) / sizeof *(table))])
#define PUT(out, ...) FUZZ_CHECK(kin__buf_printf(out, __VA_ARGS__) == 0)

static void put_version(fuzz_input *in, uint64_t version, kin__buf *out) {
  static const char *const odd[] = {"",     "0",
                                    "1",    "-1",
                                    "x",    "18446744073709551615",
                                    "0102", "99999999999999999999999"};
  uint8_t which = fuzz_byte(in);
  if (which < 200) {
    PUT(out, "%" PRIu64, version + which % 8 - 3);
  } else {
    PUT(out, "%s", odd[which % (sizeof odd / sizeof *odd)]);
  }
}

static void put_object(fuzz_input *in, uint64_t version, kin__buf *out) {
  static const char *const apps[] = {"a0", "a1", "hidden"};
  static const char *const spaces[] = {"even", "odd", "even", "odd", "other"};
  uint8_t bits = fuzz_byte(in);
  uint8_t name = fuzz_byte(in);
  if (bits >= 250) {
    PUT(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
             "\"metadata\":{}}");
    return;
  }
  PUT(out, "{\"metadata\":{");
  if (bits < 240) {
    PUT(out, "\"name\":\"p%d\",", name % 10);
  }
  if ((bits & 1) == 0) {
    PUT(out, "\"namespace\":\"%s\",", name % 10 % 2 == 0 ? "even" : "odd");
  } else if ((bits & 2) == 0) {
    PUT(out, "\"namespace\":\"%s\",", PICK(in, spaces));
  }
  PUT(out, "\"uid\":\"uid-%d-%d\",\"resourceVersion\":\"", name % 10,
      1 + (bits >> 6));
  put_version(in, version, out);
  PUT(out,
      "\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"nodeName\":\"n%d\","
      "\"text\":\"%*s\"}}",
      PICK(in, apps), bits % 3, (bits & 12) == 12 ? bits * 16 : 1, "");
}

void answers_status(fuzz_input *in, kin__buf *out) {
  static const char *const reasons[] = {"Expired",
                                        "Gone",
                                        "InternalError",
                                        "Timeout",
                                        "TooManyRequests",
                                        "Invalid",
                                        "NotFound",
                                        "Forbidden",
                                        "Unauthorized",
                                        "NotAcceptable",
                                        "ServerTimeout",
                                        "StorageReadError",
                                        "",
                                        "Unknown"};
  static const char *const messages[] = {"m", "Too large resource version: 9",
                                         "too old resource version",
                                         "etcd event received with PrevKv=nil"};
  PUT(out, "{\"kind\":\"Status\",\"status\":\"%s\",\"reason\":\"%s\",",
      fuzz_below(in, 8) == 0 ? "Success" : "Failure", PICK(in, reasons));
  PUT(out, "\"message\":\"%s\",\"code\":%d", PICK(in, messages),
      answers_code(in));
  uint8_t bits = fuzz_byte(in);
  if ((bits & 1) != 0) {
    PUT(out,
        ",\"details\":{\"retryAfterSeconds\":%d,\"causes\":[{\"reason\":"
        "\"%s\"}]}",
        bits >> 2, (bits & 2) != 0 ? "ResourceVersionTooLarge" : "Other");
  }
  PUT(out, "}");
}

static void put_bookmark(fuzz_input *in, uint64_t version, kin__buf *out) {
  bool is_end = fuzz_below(in, 2) == 1;
  PUT(out, "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"");
  put_version(in, version, out);
  PUT(out, "\"%s}}",
      is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
             : "");
}

void answers_frame(fuzz_input *in, uint64_t version, kin__buf *out) {
  static const char *const types[] = {
      "ADDED",   "MODIFIED", "DELETED",  "ADDED", "MODIFIED",
      "DELETED", "BOOKMARK", "BOOKMARK", "ERROR", "FOO"};
  uint32_t type = fuzz_below(in, sizeof types / sizeof *types);
  PUT(out, "{\"type\":\"%s\",\"object\":", types[type]);
  switch (types[type][0]) {
  case 'B':
    put_bookmark(in, version, out);
    break;
  case 'E':
    answers_status(in, out);
    break;
  default:
    put_object(in, version, out);
    break;
  }
  PUT(out, "}\n");
}

void answers_list(fuzz_input *in, uint64_t version, kin__buf *out) {
  static const char *const tokens[] = {"", "", "", "t8", "t0", "x"};
  static const char *const kinds[] = {"PodList", "PodList", "PodList", "Table",
                                      "Status"};
  PUT(out, "{\"kind\":\"%s\",\"items\":[", PICK(in, kinds));
  uint32_t items = fuzz_below(in, 6);
  for (uint32_t i = 0; i < items; i++) {
    PUT(out, "%s", i > 0 ? "," : "");
    put_object(in, version, out);
  }
  PUT(out, "],\"metadata\":{\"resourceVersion\":\"");
  put_version(in, version, out);
  PUT(out, "\",\"continue\":\"%s\"}}", PICK(in, tokens));
}

int answers_code(fuzz_input *in) {
  static const int codes[] = {200, 200, 200, 200, 400, 401, 403,
                              404, 406, 409, 410, 415, 422, 429,
                              500, 503, 504, 302, 204, 206, 0};
  return PICK(in, codes);
}
