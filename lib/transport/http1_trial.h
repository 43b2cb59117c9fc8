/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_HTTP1_TRIAL_H
#define KIN_TRANSPORT_HTTP1_TRIAL_H

#include "base/library.h"

/* Whether the llhttp that the program loaded is one that this library was built
 * for. llhttp tells no version at run time, and its releases move the callbacks
 * in the settings. So a response is parsed, and the callbacks must come in the
 * expected order. Takes about a microsecond if the llhttp fits. `found` is a
 * file, and empty if the llhttp fits. */
kin__library kin__http1_library(void);

#endif /* KIN_TRANSPORT_HTTP1_TRIAL_H */
