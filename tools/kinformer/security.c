/* SPDX-License-Identifier: MIT */
#include "security.h"

#include <stdlib.h>
#include <string.h>

enum { TOKEN_LIMIT = 64 * 1024 }; /* as the library's */

bool security_take_token(security_options *s, char *argument) {
  char *copy = strdup(argument);
  if (*argument) {
    memset(argument, '\0', strlen(argument));
    *argument = '*';
  }
  free(s->token);
  s->token = copy;
  return copy != NULL;
}

#define NEEDS_TLS "needs an https:// server"

/* The first option given that has a meaning with TLS only. */
static const char *needs_tls(const security_options *s) {
  if (s->token) {
    return "--token " NEEDS_TLS ": over http:// it could be read on the way";
  }
  if (s->token_file) {
    return "--token-file " NEEDS_TLS
           ": over http:// the token could be read on the way";
  }
  if (s->certificate_authority) {
    return "--certificate-authority " NEEDS_TLS;
  }
  if (s->client_certificate) {
    return "--client-certificate " NEEDS_TLS;
  }
  if (s->client_key) {
    return "--client-key " NEEDS_TLS;
  }
  if (s->tls_server_name) {
    return "--tls-server-name " NEEDS_TLS;
  }
  return s->insecure_skip_tls_verify ? "--insecure-skip-tls-verify " NEEDS_TLS
                                     : NULL;
}

static bool is_empty(const char *s) {
  return s && !*s;
}

static const char *check_strings(const security_options *s) {
  if (s->token && !*s->token) {
    return "--token needs a token";
  }
  if (s->token && strlen(s->token) > TOKEN_LIMIT) {
    return "--token: over 64 KiB";
  }
  for (const char *p = s->token; p && *p; p++) {
    if (*p <= ' ' || *p > '~') {
      return "--token: a token is one word of visible ASCII characters";
    }
  }
  if (is_empty(s->token_file)) {
    return "--token-file needs the name of a file";
  }
  if (is_empty(s->certificate_authority)) {
    return "--certificate-authority needs the name of a file";
  }
  if (is_empty(s->client_certificate)) {
    return "--client-certificate needs the name of a file";
  }
  if (is_empty(s->client_key)) {
    return "--client-key needs the name of a file";
  }
  return is_empty(s->tls_server_name) ? "--tls-server-name needs a name" : NULL;
}

const char *security_complaint(const security_options *s, bool has_tls) {
  const char *complaint = has_tls ? check_strings(s) : needs_tls(s);
  if (complaint) {
    return complaint;
  }
  if (s->certificate_authority && s->insecure_skip_tls_verify) {
    return "--certificate-authority and --insecure-skip-tls-verify exclude "
           "each other";
  }
  if (!s->client_certificate != !s->client_key) {
    return "--client-certificate and --client-key need each other";
  }
  if (s->as_group_count > 0 && !s->as) {
    return "--as-group needs --as";
  }
  return NULL;
}

void security_apply(const security_options *s, kin_client_options *to) {
  to->token = s->token;
  to->token_file = s->token_file;
  to->certificate_authority_file = s->certificate_authority;
  to->client_certificate_file = s->client_certificate;
  to->client_key_file = s->client_key;
  to->tls_server_name = s->tls_server_name;
  to->insecure_skip_tls_verify = s->insecure_skip_tls_verify;
  to->impersonate_user = s->as;
  to->impersonate_groups = s->as_groups;
  to->impersonate_group_count = s->as_group_count;
}

void security_finish(security_options *s) {
  free(s->token);
  s->token = NULL;
  free(s->as_groups);
  s->as_groups = NULL;
}
