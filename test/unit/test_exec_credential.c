/* SPDX-License-Identifier: MIT */
/* Proves the words of XP-02 and XP-04: what an exec plugin is told in
 * KUBERNETES_EXEC_INFO, and which of its answers count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/exec_credential.h"
#include "config/token.h"
#include "support/fail_alloc.h"
#include "support/json_mutations.h"

#define V1 "client.authentication.k8s.io/v1"
#define BETA "client.authentication.k8s.io/v1beta1"
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\""

static const kin__exec_cluster cluster = {.server = "https://a \"b\"\\\n\x7f",
                                          .tls_server_name = "name",
                                          .proxy_url = "http://proxy",
                                          .config = "{\"a\":[1]}",
                                          .authority = {"ca\nd", 4},
                                          .is_insecure = true,
                                          .disable_compression = true};

/* --- What a plugin is told ------------------------------------------------ */

static void expect_info(const char *version, bool is_interactive,
                        const kin__exec_cluster *told, const char *want) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 4096);
  assert_int_equal(kin__exec_info_render(&out, version, is_interactive, told),
                   0);
  assert_int_equal(out.length, strlen(want));
  assert_memory_equal(out.data, want, out.length);
  kin__buf_finish(&out);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

/* client-go TestRefreshCreds, TestConfigToExecCluster; XP-02. */
static void test_exec_info(void **state) {
  (void)state;
  expect_info(V1, false, NULL, HEAD ",\"spec\":{\"interactive\":false}}");
  expect_info(BETA, true, NULL,
              "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" BETA
              "\",\"spec\":{\"interactive\":true}}");
  kin__exec_cluster none = {.server = NULL};
  expect_info(V1, false, &none,
              HEAD ",\"spec\":{\"cluster\":{},\"interactive\":false}}");
  expect_info(V1, true, &cluster,
              HEAD ",\"spec\":{\"cluster\":{"
                   "\"server\":\"https://a \\\"b\\\"\\\\\\u000a\x7f\","
                   "\"tls-server-name\":\"name\","
                   "\"insecure-skip-tls-verify\":true,"
                   "\"certificate-authority-data\":\"Y2EKZA==\","
                   "\"proxy-url\":\"http://proxy\","
                   "\"disable-compression\":true,"
                   "\"config\":{\"a\":[1]}},\"interactive\":true}}");
}

/* client-go TestExecClusterToConfigRoundtrip, TestConfigToExecClusterRoundtrip;
 * XP-02: the bytes of the authority arrive, whatever their number. */
static void test_exec_info_base64(void **state) {
  (void)state;
  static const char *const encoded[] = {"", "TQ==", "TWE=", "TWFu", "TWFu/w=="};
  for (size_t i = 1; i < 5; i++) {
    kin__exec_cluster told = {.authority = {"Man\xff", i}};
    char want[256];
    snprintf(want, sizeof want,
             HEAD ",\"spec\":{\"cluster\":{\"certificate-authority-data\":"
                  "\"%s\"},\"interactive\":false}}",
             encoded[i]);
    expect_info(V1, false, &told, want);
  }
}

static bool run_info_without_memory(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin__buf out;
  kin__buf_init(&out, &memory.allocator, 4096);
  int err = kin__exec_info_render(&out, V1, true, &cluster);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kin__buf_finish(&out);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return has_failed;
}

/* Out of room at every byte. */
static void test_exec_info_limits(void **state) {
  (void)state;
  fail_alloc_sweep(run_info_without_memory, 2);
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  int err = KIN_ETOOBIG;
  for (size_t limit = 1; err != 0; limit++) {
    assert_in_range(limit, 1, 1000);
    kin__buf out;
    kin__buf_init(&out, &memory.allocator, limit);
    err = kin__exec_info_render(&out, V1, true, &cluster);
    assert_true(err == 0 || err == KIN_ETOOBIG);
    kin__buf_finish(&out);
  }
}

/* --- What a plugin answers ------------------------------------------------ */

static int read_text_as(kin__exec_credential *out, fail_alloc *memory,
                        const char *text, const char *version, char *reason) {
  return kin__exec_credential_read(out, &memory->allocator, kin__cstr(text),
                                   version, reason);
}

static void expect_refusal(const char *text, const char *words) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__exec_credential found;
  char reason[KIN__EXEC_REASON_SIZE];
  assert_int_equal(read_text_as(&found, &memory, text, V1, reason), KIN_ETOKEN);
  if (strstr(reason, words) == NULL) {
    fail_msg("\"%s\" instead of \"%s\"", reason, words);
  }
  assert_null(found.authorization);
  assert_null(found.certificate);
  assert_null(found.key);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

/* client-go TestRefreshCreds; XP-04. */
static void test_exec_credential_good(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  memory.secrets[0] = "t0ken-1";
  memory.secrets[1] = "PRIVATE";
  kin__exec_credential found;
  char reason[KIN__EXEC_REASON_SIZE];
  assert_int_equal(
      read_text_as(
          &found, &memory,
          " \n" HEAD ",\"spec\":{},\"more\":1,\"status\":{"
          "\"token\":\"t0ken-1\",\"clientCertificateData\":\"CERT\","
          "\"clientKeyData\":\"PRI\\u0056ATE\",\"expirationTimestamp\":"
          "\"2026-01-02T03:04:05.5+01:00\"}}\n\n",
          V1, reason),
      0);
  assert_string_equal(found.authorization, "Bearer t0ken-1");
  assert_string_equal(found.certificate, "CERT");
  assert_string_equal(found.key, "PRIVATE");
  assert_true(found.can_expire);
  assert_int_equal(found.expires.s, 1767319445);
  assert_int_equal(found.expires.ns, 500000000);
  kin__exec_credential_finish(&found, &memory.allocator);
  assert_int_equal(
      read_text_as(&found, &memory,
                   "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" BETA
                   "\",\"status\":{\"token\":\"t0ken-1\",\"clientKeyData\":"
                   "\"\",\"clientCertificateData\":null,"
                   "\"expirationTimestamp\":null}}",
                   BETA, reason),
      0);
  assert_string_equal(found.authorization, "Bearer t0ken-1");
  assert_null(found.certificate);
  assert_null(found.key);
  assert_false(found.can_expire);
  kin__exec_credential_finish(&found, &memory.allocator);
  assert_int_equal(read_text_as(&found, &memory,
                                HEAD ",\"status\":{\"clientKeyData\":\"K\","
                                     "\"clientCertificateData\":\"C\","
                                     "\"expirationTimestamp\":"
                                     "\"0001-01-01T00:00:00Z\"}}",
                                V1, reason),
                   0);
  assert_null(found.authorization);
  assert_string_equal(found.certificate, "C");
  assert_false(found.can_expire); /* Go's zero time */
  kin__exec_credential_finish(&found, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
}

/* client-go TestRefreshCreds; XP-01, XP-04. */
static void test_exec_credential_refused(void **state) {
  (void)state;
  expect_refusal("", "no JSON");
  expect_refusal("no", "no JSON");
  expect_refusal(HEAD ",\"status\":{\"token\":\"t\"}", "no JSON");
  expect_refusal(HEAD ",\"status\":{\"token\":\"t\"}}{}", "no JSON");
  expect_refusal("[]", "no ExecCredential");
  expect_refusal("{}", "no ExecCredential");
  expect_refusal("{\"kind\":\"Status\",\"apiVersion\":\"" V1 "\"}",
                 "no ExecCredential");
  expect_refusal("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" BETA
                 "\",\"status\":{\"token\":\"t\"}}",
                 "another version than " V1);
  expect_refusal("{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}",
                 "another version than " V1);
  expect_refusal(HEAD "}", "no status");
  expect_refusal(HEAD ",\"status\":null}", "no status");
  expect_refusal(HEAD ",\"status\":{}}", "neither a token nor");
  expect_refusal(HEAD ",\"status\":{\"token\":\"\"}}", "neither a token nor");
  expect_refusal(HEAD ",\"status\":{\"token\":7}}", "status.token is no text");
  expect_refusal(HEAD ",\"status\":{\"token\":\"a\\u0000b\"}}",
                 "status.token is no text");
  expect_refusal(HEAD ",\"status\":{\"token\":\"a b\"}}", "no token has");
  expect_refusal(HEAD ",\"status\":{\"token\":\"a\\r\\nHost: b\"}}",
                 "no token has");
  expect_refusal(HEAD ",\"status\":{\"token\":\"t\",\"clientKeyData\":\"k\"}}",
                 "not both");
  expect_refusal(HEAD ",\"status\":{\"clientCertificateData\":\"c\"}}",
                 "not both");
  expect_refusal(HEAD ",\"status\":{\"token\":\"t\",\"clientKeyData\":[]}}",
                 "status.clientKeyData is no text");
  expect_refusal(HEAD
                 ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":5}}",
                 "no RFC 3339 time");
  expect_refusal(HEAD
                 ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"\"}}",
                 "no RFC 3339 time");
}

static void test_exec_credential_large_token(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    size_t length = KIN__TOKEN_MAX_BYTES + extra;
    char *token = calloc(length + 1, 1);
    char *text = malloc(length + 200);
    assert_true(token != NULL && text != NULL);
    memset(token, 'x', length);
    snprintf(text, length + 200, HEAD ",\"status\":{\"token\":\"%s\"}}", token);
    free(token);
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin__exec_credential found;
    char reason[KIN__EXEC_REASON_SIZE];
    assert_int_equal(read_text_as(&found, &memory, text, V1, reason),
                     extra == 0 ? 0 : KIN_ETOKEN);
    kin__exec_credential_finish(&found, &memory.allocator);
    free(text);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

static const char full[] = HEAD
    ",\"spec\":{\"interactive\":false},\"status\":{\"token\":\"t0ken-1\","
    "\"clientCertificateData\":\"S3CRET-C\",\"clientKeyData\":\"S3CRET-K\","
    "\"expirationTimestamp\":\"2026-01-02T03:04:05Z\"}}";

/* XP-04: whatever is of another type, repeated or missing, the answer counts as
 * a whole or not at all, and no reason holds anything of it. */
static void test_exec_credential_of_other_types(void **state) {
  (void)state;
  json_mutations m;
  json_mutations_init(&m, full);
  size_t good = 0;
  for (size_t i = 0; i < m.count; i++) {
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    memory.secrets[0] = "t0ken";
    memory.secrets[1] = "S3CRET";
    kin__exec_credential found;
    char reason[KIN__EXEC_REASON_SIZE];
    int err = read_text_as(&found, &memory, json_mutation(&m, i), V1, reason);
    if (err == 0) {
      good++;
      assert_true(found.authorization != NULL || found.certificate != NULL);
      assert_int_equal(found.certificate == NULL, found.key == NULL);
      assert_int_equal(reason[0], '\0');
      kin__exec_credential_finish(&found, &memory.allocator);
    } else {
      assert_int_equal(err, KIN_ETOKEN);
      assert_int_not_equal(reason[0], '\0');
      assert_null(strstr(reason, "t0ken"));
      assert_null(strstr(reason, "S3CRET"));
    }
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
  }
  assert_in_range(good, 1, m.count - 1);
  json_mutations_finish(&m);
}

/* Cut anywhere, it is refused. */
static void test_exec_credential_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < strlen(full); i++) {
    char cut[sizeof full];
    snprintf(cut, sizeof cut, "%.*s", (int)i, full);
    expect_refusal(cut, "no JSON");
  }
}

static bool run_read_without_memory(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  memory.secrets[0] = "t0ken";
  memory.secrets[1] = "S3CRET";
  kin__exec_credential found;
  char reason[KIN__EXEC_REASON_SIZE];
  int err = read_text_as(&found, &memory, full, V1, reason);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kin__exec_credential_finish(&found, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
  return has_failed;
}

static void test_exec_credential_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_read_without_memory, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_info),
      cmocka_unit_test(test_exec_info_base64),
      cmocka_unit_test(test_exec_info_limits),
      cmocka_unit_test(test_exec_credential_good),
      cmocka_unit_test(test_exec_credential_refused),
      cmocka_unit_test(test_exec_credential_large_token),
      cmocka_unit_test(test_exec_credential_of_other_types),
      cmocka_unit_test(test_exec_credential_cut),
      cmocka_unit_test(test_exec_credential_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
