/* SPDX-License-Identifier: MIT */
#include <kin/kubeconfig.h>

#include <kin/error.h>

#include "base/first_size.h"
#include "base/options.h"
#include "client/client_options.h"
#include "client/route.h"
#include "connect/kube_finder.h"
#include "connect/late.h"

/* The first option that describes a server; NULL: none is set. */
static const char *server_option(const kin_client_options *options) {
  const struct {
    const char *name;
    bool is_set;
  } rows[] = {
      {"server", options->server != NULL},
      {"certificate_authority_file",
       options->certificate_authority_file != NULL},
      {"certificate_authority_data",
       options->certificate_authority_data != NULL},
      {"client_certificate_file", options->client_certificate_file != NULL},
      {"client_certificate_data", options->client_certificate_data != NULL},
      {"client_key_file", options->client_key_file != NULL},
      {"client_key_data", options->client_key_data != NULL},
      {"token", options->token != NULL},
      {"token_file", options->token_file != NULL},
      {"username", options->username != NULL},
      {"password", options->password != NULL},
      {"exec", options->exec != NULL},
      {"proxy_url", options->proxy_url != NULL},
      {"tls_server_name", options->tls_server_name != NULL},
      {"insecure_skip_tls_verify", options->insecure_skip_tls_verify},
      {"impersonate_user", options->impersonate_user != NULL},
      {"impersonate_uid", options->impersonate_uid != NULL},
      {"impersonate_groups", options->impersonate_group_count > 0},
      {"impersonate_extra", options->impersonate_extra_count > 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].is_set) {
      return rows[i].name;
    }
  }
  return NULL;
}

static int open_late(kin__route *out, const kin__server_place *place,
                     const kin_client_options *options, void *ctx) {
  const char *name = server_option(options);
  if (name != NULL) {
    return kin__log_problem(place->log, KIN_EINVAL,
                            "%s: comes from the kubeconfig", name);
  }
  kin_kubeconfig_options which;
  const kin_kubeconfig_options *const *chosen = ctx;
  int err = kin__options_take(&which, sizeof which, *chosen,
                              KIN__FIRST_SIZE(kin_kubeconfig_options),
                              "kin_kubeconfig_options", place->log);
  if (err != 0) {
    return err;
  }
  kin__finder finder;
  err = kin__kube_finder_open(&finder, place, &which);
  if (err != 0) {
    return err;
  }
  err = kin__late_open(out, place, options, &finder);
  if (err != 0) {
    kin__kube_finder_free(&finder);
  }
  return err;
}

int kin_client_open_kubeconfig(kin_client **out, uv_loop_t *loop,
                               const kin_kubeconfig_options *which,
                               const kin_client_options *options) {
  static const kin_kubeconfig_options any = KIN_KUBECONFIG_OPTIONS_INIT;
  static const kin_client_options usual = KIN_CLIENT_OPTIONS_INIT;
  const kin_kubeconfig_options *chosen = which != NULL ? which : &any;
  return kin__client_open(out, loop, options != NULL ? options : &usual,
                          open_late, &chosen);
}

int kin_client_open_default(kin_client **out, uv_loop_t *loop) {
  return kin_client_open_kubeconfig(out, loop, NULL, NULL);
}
