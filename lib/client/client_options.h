/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_CLIENT_OPTIONS_H
#define KIN_CLIENT_CLIENT_OPTIONS_H

#include <kin/client.h>

#include "base/log.h"

/* The log that the options describe; `problem` as in kin__log. */
kin__log kin__client_log(const kin_client_options *options, char *problem);

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
