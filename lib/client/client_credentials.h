/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_CLIENT_CREDENTIALS_H
#define KIN_CLIENT_CLIENT_CREDENTIALS_H

#include <stdbool.h>

#include <kin/client.h>

#include "base/log.h"
#include "client/loop.h"
#include "config/basic_source.h"
#include "config/exec_plugin.h"
#include "config/token.h"
#include "transport/credentials.h"

/* The source of a client's credentials: a token, a user name and a password, an
 * exec plugin, or none. All others, and a client certificate, have precedence
 * over a plugin (XP-01). */
typedef struct kin__client_credentials {
  kin__token *token;        /* NULL: none */
  kin__basic_source *basic; /* NULL: none */
  kin__exec_plugin *exec;   /* NULL: none */
  kin__exec_stats stats;    /* of a plugin that is closed */
} kin__client_credentials;

/* After an error kin__client_credentials_free is needed as well. Errors:
 * KIN_EINVAL, with a problem text; KIN_ENOTSUP; KIN_ENOMEM. */
int kin__client_credentials_open(kin__client_credentials *credentials,
                                 const kin_client_options *options,
                                 kin__loop *loop,
                                 const kin_allocator *allocator,
                                 const kin__log *log);
/* Returns false if there is no source. */
bool kin__client_credentials_source(const kin__client_credentials *credentials,
                                    kin__credentials *out);
/* Before the first use only. */
void kin__client_credentials_free(kin__client_credentials *credentials);
/* Calls cb when nothing is left: at once if nothing has to end first. */
void kin__client_credentials_close(kin__client_credentials *credentials,
                                   void (*cb)(void *ctx), void *ctx);

void kin__client_credentials_set_ref(kin__client_credentials *credentials,
                                     bool is_ref);
kin__exec_stats
kin__client_credentials_stats(const kin__client_credentials *credentials);

#endif /* KIN_CLIENT_CLIENT_CREDENTIALS_H */
