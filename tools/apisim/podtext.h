/* SPDX-License-Identifier: MIT */
#ifndef APISIM_PODTEXT_H
#define APISIM_PODTEXT_H

/* The names, words and times that generated pods are made of. */

#include "buf.h"
#include "podgen.h"
#include "rng.h"

/* What the letters of generated names are taken from. */
#define PODTEXT_LETTERS "bcdfghjklmnpqrstvwxz2456789"

const char *podtext_pick(rng *r, const char *const *from, size_t count);
/* One of an array of strings. */
#define PICK(r, list) podtext_pick((r), (list), sizeof(list) / sizeof(list)[0])
const char *podtext_word(rng *r);

void podtext_letters(buf *out, rng *r, int count);
/* A time of the year 2026, as a JSON string. */
void podtext_time(buf *out, uint64_t seconds);

/* Where the values of pod index come from. The first number chooses its
 * application. */
rng podtext_rng(const podgen *g, uint64_t index);
const char *podtext_app(const podgen *g, uint64_t index);
/* The ReplicaSet, or another owner, of the pod. */
void podtext_set_name(const podgen *g, uint64_t index, buf *out);

/* A member "env" of about pad bytes in all, a comma before it: what makes one
 * pod larger than another. */
void podtext_env(rng *r, size_t pad, buf *out);
/* How many of a pod's bytes are its version, and its number of changes in each
 * container: env does not depend on these, as a spec does not on the status. */
size_t podtext_varying(uint64_t version, uint64_t change, unsigned containers);
void podtext_insert(buf *out, size_t at, const buf *text);

#endif
