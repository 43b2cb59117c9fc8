/* SPDX-License-Identifier: MIT */
#include "choose_server.h"

#include "trial.h"
#include "values.h"

/* With --server no file is read, so that no server gets the credentials of
 * another one. */
static const char *kube_option(const options *o) {
  const kube_options *k = &o->kube_options;
  return k->kubeconfig ? "--kubeconfig"
         : k->context  ? "--context"
         : k->cluster  ? "--cluster"
         : k->user     ? "--user"
                       : NULL;
}

static outcome check_security(const options *o, bool tls) {
  const char *complaint = security_complaint(&o->security, tls);
  return complaint ? refuse("%s", complaint) : GO_ON;
}

static outcome try_options(options *o) {
  switch (trial_run(o)) {
  case EXIT_DONE:
    return GO_ON;
  case EXIT_USAGE:
    return BAD_USAGE;
  default:
    return CANNOT;
  }
}

/* An option that does not go with the server of a file is no wrong command line:
 * with another file it is right. */
static outcome choose_from_files(options *o) {
  if (!kube_is_supported()) {
    return refuse("--server is needed: this build reads no kubeconfig");
  }
  switch (kube_choose(&o->kube, &o->kube_options, &o->security)) {
  case KUBE_OK:
    return check_security(o, has_tls(kube_server(o->kube))) == GO_ON ? GO_ON
                                                                     : CANNOT;
  case KUBE_NO_MEMORY:
    return NO_MEMORY;
  default:
    return CANNOT;
  }
}

outcome choose_server(options *o) {
  outcome result = check_security(o, o->server == NULL || has_tls(o->server));
  if (result != GO_ON) {
    return result;
  }
  if (o->server) {
    return kube_option(o)
               ? refuse("--server and %s exclude each other", kube_option(o))
               : GO_ON;
  }
  result = try_options(o);
  return result == GO_ON ? choose_from_files(o) : result;
}
