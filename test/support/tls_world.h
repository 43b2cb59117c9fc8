/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_TLS_WORLD_H
#define KIN_TEST_TLS_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "config/exec_plugin.h"
#include "config/token.h"
#include "support/tls_certs.h"
#include "support/tls_server.h"
#include "support/transport_world.h"
#include "transport/tls_context.h"

/* A world with a TLS server, a transport that talks to it, and a log that is
 * kept. Set the options between tls_world_init and tls_world_open. */
typedef struct tls_world {
  world w;
  tls_server server;
  tls_server_options serve; /* of the server */
  kin__tls_options tls;     /* of the transport; authority_data is the pki's */
  const char *token; /* a source of tokens is made if one of them is set */
  const char *token_file;
  uint32_t probe_silence_ms;
  uint32_t certificate_check_ms;
  kin__token *source;
  const kin_exec_plugin *exec; /* a source of this kind is made if set */
  kin__exec_plugin *plugin;
  char directory[64]; /* of this world's own, removed at the end */
  kin__log log;
  char *lines; /* all of the log, each line with a newline */
  size_t lines_length;
} tls_world;

/* `fail_at` as in world_init. */
void tls_world_init(tls_world *t, const tls_reply *replies, size_t reply_count,
                    size_t fail_at);
/* Opens the server, and a transport to it as https://host. Returns the latter's
 * error. */
int tls_world_open(tls_world *t, const char *host);
/* The transport only, to a given URL. */
int tls_world_open_at(tls_world *t, const char *url);
/* Closes everything and checks that nothing is left, in memory, in OpenSSL's
 * queue, or of handles and descriptors. */
void tls_world_close(tls_world *t);

/* All at once, to 127.0.0.1. */
void tls_world_setup(tls_world *t, const tls_reply *replies,
                     size_t reply_count);

/* The path of a file in the directory. */
const char *tls_world_path(const tls_world *t, const char *name, char *path,
                           size_t size);

/* Whether the log, or the error of the exchange (may be NULL), holds a text. */
bool tls_world_has_line(const tls_world *t, const char *text);
bool tls_world_leaks(const tls_world *t, const fetch *f, const char *secret);

/* Runs one exchange. Returns "" if it is answered with 200 and "hello", else
 * its message, until the next call; then its class must be that of TLS. */
const char *tls_world_try(tls_world *t);
/* Fails the test, showing both, unless the words are in the message. "..."
 * stands for any text, such as the words of OpenSSL, which change. */
void tls_assert_words(const char *message, const char *words);

#endif /* KIN_TEST_TLS_WORLD_H */
