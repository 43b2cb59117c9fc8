/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FUZZ_ANSWERS_H
#define KIN_TEST_FUZZ_ANSWERS_H

#include "base/buf.h"
#include "fuzz/fuzz.h"

/* What an API server may write, made of the bytes of an input: a small grammar
 * of objects, frames, lists and Status. Names, uids and versions come from
 * small sets, so that they meet those of other answers. `version` is the
 * server's newest. */

void answers_frame(fuzz_input *in, uint64_t version, kin__buf *out);
void answers_list(fuzz_input *in, uint64_t version, kin__buf *out);
void answers_status(fuzz_input *in, kin__buf *out);

/* One of the codes of HTTP that a list or a watch may be answered with. */
int answers_code(fuzz_input *in);

#endif /* KIN_TEST_FUZZ_ANSWERS_H */
