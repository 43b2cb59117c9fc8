/* SPDX-License-Identifier: MIT */
#ifndef APISIM_OPENAPI_H
#define APISIM_OPENAPI_H

/* /openapi/v3, and below it one OpenAPI document for each group and version. */

#include <stdbool.h>

struct conn;

/* Answers a GET below /openapi/v3. False if the path is none of its. */
bool openapi_answer(struct conn *c);

#endif
