/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_WORDS_H
#define KINFORMER_WORDS_H

#include <stdbool.h>

#include "app.h"

/* Words that the server has to explain: short names, kinds, custom resources,
 * "deployments/web". */

bool words_are_supported(void);

/* Asks what the resource's word means, until there is an answer, and then opens
 * the informer and follows it, or ends the program. */
int words_ask(app *a);

#endif /* KINFORMER_WORDS_H */
