/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_TRIAL_H
#define KINFORMER_TRIAL_H

#include "options.h"

/* Gives the options to the library with a server that is not asked, because a
 * wrong command line is to be told whatever files say. No file is read. Returns
 * the exit status; unless it is EXIT_DONE, what is wrong has been said. */
int trial_run(options *o);

#endif /* KINFORMER_TRIAL_H */
