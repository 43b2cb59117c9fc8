/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_E2E_SERVER_H
#define KIN_TEST_E2E_SERVER_H

#include <kin/lister_watcher.h>

#include "support/script_env.h"
#include "words.h"

/* An API server with one resource, as small as it can be, as a source of an
 * informer: it lists, and watches from a version. ../clientgo/server.go is the
 * same for client-go. */
typedef struct server server;

server *server_new(script_env *script);
void server_free(server *s);

kin_lister_watcher server_source(server *s);

/* Answers what is asked until nothing is left to do now. */
void server_settle(server *s);
/* The same while time passes. */
void server_run(server *s, uint64_t ms);

/* The operations that change what the server has, or how it answers; false if
 * it is none. */
bool server_do(server *s, const char *operation, const words *line);

#endif /* KIN_TEST_E2E_SERVER_H */
