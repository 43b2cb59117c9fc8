/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_SECURITY_H
#define KINFORMER_SECURITY_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/client.h>

/* Whom to trust and who we are, as the command line says it. */
typedef struct security_options {
  char *token; /* a copy, and the only one: see security_take_token */
  const char *token_file;
  const char *certificate_authority;
  const char *client_certificate;
  const char *client_key;
  const char *tls_server_name;
  bool insecure_skip_tls_verify;
  const char *as; /* whom to impersonate */
  const char **as_groups;
  size_t as_group_count;
} security_options;

/* Copies a token out of argv and overwrites it there, because every user of the
 * machine can read the command line of a process. It could be read until then:
 * --token-file is the better choice. Returns false if memory was out; the
 * argument is overwritten all the same. */
bool security_take_token(security_options *s, char *argument);

/* What is wrong with the options given, for a server with TLS or without, in a
 * sentence that begins with an option's name; NULL: nothing. Static. */
const char *security_complaint(const security_options *s, bool has_tls);

/* The strings stay the options'. */
void security_apply(const security_options *s, kin_client_options *to);

/* Frees the token and the list of groups. */
void security_finish(security_options *s);

#endif /* KINFORMER_SECURITY_H */
