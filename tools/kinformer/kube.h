/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_KUBE_H
#define KINFORMER_KUBE_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <kin/client.h>

#include "security.h"

/* Which server and user of a kubeconfig, as the command line says it. The
 * strings are argv's. */
typedef struct kube_options {
  const char *kubeconfig; /* NULL: what kubectl would read */
  const char *context;    /* NULL: the current one */
  const char *cluster;
  const char *user;
} kube_options;

/* The choice: the server and the context that the program stays with. */
typedef struct kube_choice kube_choice;

typedef enum kube_result {
  KUBE_OK,
  KUBE_WRONG, /* also: no server is configured */
  KUBE_NO_MEMORY,
} kube_result;

/* Whether this build reads kubeconfig files. */
bool kube_is_supported(void);

/* Reads the files, before the loop runs. Problems have been written to
 * standard error, unless memory was out. `security` is borrowed by *out. */
kube_result kube_choose(kube_choice **out, const kube_options *options,
                        const security_options *security);

/* Borrowed from the choice. */
const char *kube_namespace(const kube_choice *choice);
const char *kube_server(const kube_choice *choice);

/* Opens a client for what was chosen; it reads the files again by itself. */
int kube_open(kin_client **out, uv_loop_t *loop, const kube_choice *choice,
              const kin_client_options *options);

/* NULL is allowed. */
void kube_free(kube_choice *choice);

#endif /* KINFORMER_KUBE_H */
