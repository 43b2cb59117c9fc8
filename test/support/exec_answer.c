/* SPDX-License-Identifier: MIT */
#include "support/exec_answer.h"

#include <stdio.h>
#include <string.h>

/* The first member needs no comma. */
static void add_member(char *answer, const char *name, const char *text) {
  size_t length = strlen(answer);
  if (text == NULL) {
    return;
  }
  length += (size_t)snprintf(answer + length, EXEC_ANSWER_SIZE - length,
                             "%s\"%s\":\"",
                             answer[length - 1] == '{' ? "" : ",", name);
  for (const char *c = text; *c != '\0'; c++) {
    length += (size_t)snprintf(answer + length, EXEC_ANSWER_SIZE - length,
                               *c == '\n' ? "\\n" : "%c", *c);
  }
  (void)snprintf(answer + length, EXEC_ANSWER_SIZE - length, "\"");
}

const char *exec_answer(char answer[EXEC_ANSWER_SIZE], const char *token,
                        const char *certificate, const char *key) {
  (void)snprintf(answer, EXEC_ANSWER_SIZE,
                 "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client."
                 "authentication.k8s.io/v1\",\"status\":{");
  add_member(answer, "token", token);
  add_member(answer, "clientCertificateData", certificate);
  add_member(answer, "clientKeyData", key);
  strncat(answer, "}}", EXEC_ANSWER_SIZE - strlen(answer) - 1);
  return answer;
}
