/* SPDX-License-Identifier: MIT */

/* What exec plugins print. Oracles:
 *  - what counts is what yyjson reads of the same bytes (XP-04)
 *  - a token is one word of visible ASCII; certificate and key come together
 *  - the reason of a refusal is short, is on one line, and has nothing of the
 *    output
 *  - an allocation that fails makes nothing count that would not, and nothing is
 *    left */

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/exec_credential.h"
#include "config/token.h"
#include "fuzz/fuzz.h"
#include "support/fail_alloc.h"

static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                       "client.authentication.k8s.io/v1beta1"};

/* A text of at least 8 bytes does not stand in the reason by chance, unless it
 * is a part of the names that reasons have. */
static void check_unseen(const char *reason, yyjson_val *value) {
  static const char names[] = "ExecCredential clientCertificateData "
                              "clientKeyData expirationTimestamp apiVersion "
                              "client.authentication.k8s.io/v1beta1";
  const char *text = yyjson_get_str(value);
  if (text != NULL && strlen(text) >= 8 && strstr(names, text) == NULL) {
    FUZZ_CHECK(strstr(reason, text) == NULL);
  }
}

static void check_reason(const char *reason, yyjson_val *status) {
  size_t length = strnlen(reason, KIN__EXEC_REASON_SIZE);
  FUZZ_CHECK(length > 0 && length < KIN__EXEC_REASON_SIZE);
  for (size_t i = 0; i < length; i++) {
    FUZZ_CHECK((unsigned char)reason[i] >= 0x20);
  }
  check_unseen(reason, yyjson_obj_get(status, "token"));
  check_unseen(reason, yyjson_obj_get(status, "clientKeyData"));
  check_unseen(reason, yyjson_obj_get(status, "clientCertificateData"));
}

static void check_same(const char *got, const char *prefix, yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  if (got == NULL) {
    FUZZ_CHECK(text == NULL || text[0] == '\0');
    return;
  }
  size_t length = strlen(prefix);
  FUZZ_CHECK(text != NULL && strncmp(got, prefix, length) == 0 &&
             strcmp(got + length, text) == 0);
}

static void check_good(const kin__exec_credential *found, yyjson_val *root,
                       const char *version) {
  yyjson_val *status = yyjson_obj_get(root, "status");
  FUZZ_CHECK(yyjson_equals_str(yyjson_obj_get(root, "kind"), "ExecCredential"));
  FUZZ_CHECK(yyjson_equals_str(yyjson_obj_get(root, "apiVersion"), version));
  FUZZ_CHECK(found->authorization != NULL || found->certificate != NULL);
  FUZZ_CHECK((found->certificate == NULL) == (found->key == NULL));
  FUZZ_CHECK(found->authorization == NULL ||
             kin__token_is_valid(kin__cstr(found->authorization + 7)));
  FUZZ_CHECK(found->expires.ns < 1000000000);
  check_same(found->authorization, "Bearer ", yyjson_obj_get(status, "token"));
  check_same(found->certificate, "",
             yyjson_obj_get(status, "clientCertificateData"));
  check_same(found->key, "", yyjson_obj_get(status, "clientKeyData"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  const char *version = versions[fuzz_byte(&in) & 1];
  size_t fail_at = fuzz_byte(&in);
  (void)fuzz_take(&in, FUZZ_JSON_HEADER - 2);
  kin_str text = fuzz_rest(&in);
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  yyjson_doc *doc =
      yyjson_read(text.data, text.length, YYJSON_READ_BIGNUM_AS_RAW);
  yyjson_val *root = yyjson_doc_get_root(doc);
  kin__exec_credential found;
  char reason[KIN__EXEC_REASON_SIZE];
  int err = kin__exec_credential_read(&found, &memory.allocator, text, version,
                                      reason);
  if (err == 0) {
    check_good(&found, root, version);
  } else {
    /* Malformed JSON may be found before a lack of memory matters. */
    FUZZ_CHECK(err == KIN_ETOKEN ||
               (err == KIN_ENOMEM && fail_alloc_has_failed(&memory)));
    check_reason(reason, yyjson_obj_get(root, "status"));
  }
  kin__exec_credential_finish(&found, &memory.allocator);
  FUZZ_CHECK(atomic_load(&memory.live_blocks) == 0);
  yyjson_doc_free(doc);
  return 0;
}
