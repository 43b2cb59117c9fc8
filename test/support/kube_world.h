/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_KUBE_WORLD_H
#define KIN_TEST_KUBE_WORLD_H

#include "config/kube_load.h"
#include "support/fail_alloc.h"

/* A process's environment and files, of texts, and what kubeconfig loading
 * makes of them. Nothing is read from the machine. */
typedef struct kube_world {
  fail_alloc memory;
  struct {
    const char *path;
    const char *text; /* NULL: there is a file, but it cannot be read */
  } files[16];
  size_t file_count;
  struct {
    const char *name;
    const char *value;
  } variables[8];
  size_t variable_count;

  bool has_small_blocks;          /* each piece of memory is an allocation */
  kin_kubeconfig_options options; /* the test sets them before it loads */

  kin__log log;
  kin__config_env env;
  kin__resolved_config config;
  kin__problems problems;
  char lines[4096];    /* of the log, each with its newline */
  char text[4096];     /* of kube_world_text */
  const char *probed;  /* the last file whose content was asked for */
  unsigned read_count; /* files that were read */
} kube_world;

/* The texts that are given are borrowed. */
void kube_world_init(kube_world *w, size_t fail_at);
/* Fails the test if memory is left. */
void kube_world_finish(kube_world *w);

void kube_world_file(kube_world *w, const char *path, const char *text);
void kube_world_set(kube_world *w, const char *name, const char *value);
/* A token, a CA and the variables of a pod at 10.0.0.1:443. Needs
 * tls_pki_finish at the end. */
void kube_world_pod(kube_world *w);

/* Loads anew; `path` as in the options. Returns its result. */
int kube_world_load(kube_world *w, const char *path);
/* The same with one file, /k/config, of this text. */
int kube_world_load_text(kube_world *w, const char *text);

/* What was resolved, as "server=https://a token=t ...": the members that are
 * set, in the order of the struct; namespace and names only if they are not
 * the defaults. */
const char *kube_world_text(kube_world *w);

/* Fails the test if it is not 0; says what the problems are. */
void kube_world_assert_ok(kube_world *w, int err);

/* Loads /k/config, and compares what was resolved. */
void kube_world_expect(kube_world *w, const char *text, const char *resolved);
/* Loads /k/config, and compares the problems. */
void kube_world_expect_problem(kube_world *w, const char *text,
                               const char *problems);

#endif /* KIN_TEST_KUBE_WORLD_H */
