/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EXEC_ANSWER_H
#define KIN_TEST_EXEC_ANSWER_H

#include <stddef.h>

/* The JSON of an ExecCredential of v1. Each text may be NULL, and may have
 * newlines. Returns `answer`. */
#define EXEC_ANSWER_SIZE 16384
const char *exec_answer(char answer[EXEC_ANSWER_SIZE], const char *token,
                        const char *certificate, const char *key);

#endif /* KIN_TEST_EXEC_ANSWER_H */
