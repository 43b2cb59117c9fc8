/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_CLIENT_OPTIONS_H
#define KIN_CLIENT_CLIENT_OPTIONS_H

#include <stdint.h>

#include <kin/client.h>

#include "base/log.h"

/* The log that the options describe; `problem` as in kin__log. */
kin__log kin__client_log(const kin_client_options *options, char *problem);

/* `value`, or `fallback` if it is 0. */
static inline uint32_t kin__number_or(uint32_t value, uint32_t fallback) {
  return value != 0 ? value : fallback;
}

/* The options' user agent, or the default one. */
const char *kin__client_user_agent(const kin_client_options *options);

/* Checks the options alone, without a loop or files. The log says what is
 * wrong. Errors: KIN_EINVAL. */
int kin__client_options_check(const kin_client_options *options,
                              const kin__log *log);

/* Logs that the server's URL is malformed. The URL is shown only if it cannot
 * hold a password. */
void kin__client_bad_server(const char *server, const kin__log *log);

#endif /* KIN_CLIENT_CLIENT_OPTIONS_H */
