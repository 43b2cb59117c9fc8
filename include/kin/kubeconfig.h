/* SPDX-License-Identifier: MIT */
#ifndef KIN_KUBECONFIG_H
#define KIN_KUBECONFIG_H

/** @file
 * The files and variables that tell kubectl which server to use, and how. Part
 * of a library that was built with libyaml (Meson option kubeconfig);
 * kin/kin.h does not include it. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/exec_plugin.h>
#include <kin/export.h>
#include <kin/log.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One server and the way to reach it, as kubectl finds them: a context of a
 * kubeconfig, or the environment of a pod. It holds secrets, and never changes.
 * doc/kubeconfig.md says how it is found, and what is different from kubectl.
 */
typedef struct kin_kubeconfig kin_kubeconfig;

/** Options of kin_kubeconfig_load. NULL, "" and false: what is found decides.
 */
typedef struct kin_kubeconfig_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's; copied */

  /** The kubeconfig, which must exist. NULL: the files that KUBECONFIG names,
   * or else ~/.kube/config. Relative names begin in the working directory at
   * the time of the call, also when the files are read again later. If these
   * configure no cluster, the environment of the pod counts. A program that runs
   * with more rights than its caller (setuid, setgid, file capabilities) reads
   * no variable, and needs a path. */
  const char *path;

  /* --- The choice --- */

  const char *context;    /**< must exist; NULL: the current one */
  const char *cluster;    /**< must exist; NULL: that of the context */
  const char *user;       /**< must exist; NULL: that of the context */
  const char *namespace_; /**< NULL: that of the context, or of the pod */

  /* --- In place of what is found; see kin_client_options. The first five are of
   * a cluster: with one of them set, the environment of a pod does not count. */

  /** Also drops the TLS server name that is found. */
  const char *server;
  const char *tls_server_name;
  /** Drops the authority that is found, and insecure-skip-tls-verify. */
  const char *certificate_authority_file;
  /** Drops the authority that is found. */
  bool insecure_skip_tls_verify;
  const char *proxy_url; /**< http://, https:// or socks5:// */
  /** Drops both the token and the token file that are found. */
  const char *token;
  const char *token_file;              /**< the same */
  const char *client_certificate_file; /**< drops the data that is found */
  const char *client_key_file;         /**< drops the data that is found */
  /** For basic authentication. Drops the token file of a pod. */
  const char *username;
  const char *password;
  const char *impersonate_user;
  const char *impersonate_uid;
  const char *const *impersonate_groups; /**< drops those that are found */
  size_t impersonate_group_count;

  /* --- Beside what is found --- */

  /** The program decides these members of an exec plugin that is found:
   * stdin_unavailable and its message, timeout_ms, stderr_to, policy and
   * allowlist. The kubeconfig decides all others; here they stay as
   * KIN_EXEC_PLUGIN_INIT sets them. Copied. NULL: any plugin may run. */
  const kin_exec_plugin *exec;

  /* --- What goes wrong --- */

  /** Where kin_kubeconfig_load, if it fails, writes all that is wrong: one or
   * more lines "FILE:LINE: FIELD: text" without a newline at the end. The text
   * has no secrets. "" if it succeeds, is out of memory, or has no `out`.
   * problem_size is the room in bytes: 4096 is always enough, a longer text is
   * cut. NULL: not needed. If `size` does not reach the end of problem_size (0
   * in options without the INIT macro), no other field can be trusted: nothing
   * is written. */
  char *problem;
  size_t problem_size;

  kin_log_level log_level; /**< highest level that is passed */
  kin_log_cb log;          /**< gets each line of `problem`; NULL: no log */
  void *log_data;          /**< passed to log */
} kin_kubeconfig_options;
/** Sets the size, and each member to its default. */
#define KIN_KUBECONFIG_OPTIONS_INIT                                            \
  {                                                                            \
    sizeof(kin_kubeconfig_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL, NULL, 0, NULL, NULL, 0, KIN_LOG_DEFAULT, NULL, NULL              \
  }

/** Finds and reads the configuration, and checks what is chosen of it. Blocks
 * while it reads files, which a network file system can delay for long: for the
 * start of a program, and for tools. Files over 4 MiB, directories, pipes and
 * devices are refused. Nothing is sent to a server, and certificates are not
 * parsed. Free the result with kin_kubeconfig_free.
 * Cost: O(bytes of the files).
 * Errors: KIN_ENOENT (`path` does not exist; or nothing is configured, and this
 * is no pod), KIN_EINVAL (an option, a file or an entry is wrong; `problem`
 * says which), KIN_ENOTSUP (options of a newer version), KIN_ELIBRARY (the
 * program uses another libyaml than this library needs), KIN_ENOMEM. *out is
 * NULL then. */
KIN_EXTERN int kin_kubeconfig_load(kin_kubeconfig **out,
                                   const kin_kubeconfig_options *options);

/** Wipes and frees a configuration. NULL is allowed.
 * Cost: O(bytes of the configuration). */
KIN_EXTERN void kin_kubeconfig_free(kin_kubeconfig *config);

/** Sets server, proxy, TLS, credentials and impersonation of a client's options
 * to those of the configuration, and unsets those that it does not have. With
 * disable-compression also unsets accept_gzip. The strings are borrowed: the
 * configuration must live until kin_client_open has returned. `options` begins
 * with its INIT macro.
 * Errors: KIN_EINVAL; nothing is set then. */
KIN_EXTERN int kin_kubeconfig_apply(const kin_kubeconfig *config,
                                    kin_client_options *options);

/** Opens a client for the server that kubectl would use: the chosen context of
 * the kubeconfig, or else the server of the pod. The first request finds the
 * server: libuv's thread pool reads the files, with the C library's memory, and
 * requests wait, each for connect_timeout_ms at most. If no server is found,
 * on_error of the informers says why, class KIN_CLASS_AUTH and code KIN_EINVAL
 * if a file is missing or wrong, and the next attempt of an informer reads the
 * files again. Single requests and look-ups of discovery end with the same.
 *
 * The files are read again before a request that comes a minute or more after
 * the last reading, and before the first request after a failure that other
 * settings may cure: a 401, a failure of TLS, no connection, a connection that
 * was cut. After such failures at most once a second: a request within a second
 * of the last reading does not wait, and the files are read beside it. If the
 * settings have changed, the client connects anew with the new ones, and
 * watches go on from their last version, but not at a new address. Files that
 * can no longer be used change nothing, nor do files that have lost the
 * cluster, the user, all credentials or a part of the impersonation (as,
 * as-uid, all as-groups, all as-user-extra) of the context: the client neither
 * moves to its pod's cluster nor goes on without credentials, nor with more
 * rights than before. To drop such a part on purpose, open a new client.
 * Credentials and impersonation in `which` are not lost with those of the
 * files. The first context whose server could be used is chosen for good: a
 * later change of current-context does not move the client to another cluster.
 * That holds also if the first server was found without a context, by the
 * `server` or `cluster` of `which`: the first current-context that a later
 * reading finds is chosen then, as kubectl would choose it. A new address
 * (server or tls-server-name) in the chosen context may be another cluster's,
 * where versions say nothing: informers report KIN_EGONE and list anew, other
 * followers end with that code. The retries of a request and the run of a leader
 * elector go on at the new address. A cluster that was made anew at the same
 * address, or that another proxy-url reaches at the same address, is not noticed
 * before its server refuses a version.
 *
 * `which` may be NULL: what kubectl finds without options. It is copied; its
 * allocator, problem and log are not used. The variables of the environment by
 * which files and pods are found (KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST,
 * ...) are read in this call; those of proxies (HTTPS_PROXY, NO_PROXY, ...)
 * whenever a server without a proxy-url has been found, in a callback of the
 * loop: which of them counts depends on the server. `options` may be NULL: the
 * defaults. The options of the server, its TLS, proxy_url, credentials and
 * impersonation must not be set; all others count,
 * proxy_certificate_authority_file too, but for accept_gzip where the chosen
 * cluster has disable-compression.
 * Errors: as kin_client_open, but for those of the server; KIN_EINVAL also for
 * an option that must not be set, KIN_ELIBRARY also for libyaml. *out is NULL
 * then. Source: clientcmd's deferred loading. */
KIN_EXTERN int kin_client_open_kubeconfig(kin_client **out, uv_loop_t *loop,
                                          const kin_kubeconfig_options *which,
                                          const kin_client_options *options);

/** kin_client_open_kubeconfig with all defaults: whatever kubectl reaches from
 * this machine or this pod.
 * Errors: those of kin_client_open_kubeconfig. *out is NULL then. */
KIN_EXTERN int kin_client_open_default(kin_client **out, uv_loop_t *loop);

/** The server's URL, with http://, https:// or unix://. Strings of all
 * functions below are borrowed from the configuration. */
KIN_EXTERN const char *kin_kubeconfig_server(const kin_kubeconfig *config);

/** The namespace that was given, or "default". */
KIN_EXTERN const char *kin_kubeconfig_namespace(const kin_kubeconfig *config);
/** Whether a namespace was given: by an option, a context or a pod. */
KIN_EXTERN bool kin_kubeconfig_has_namespace(const kin_kubeconfig *config);

/** The names of the chosen entries; "" if there are none, as in a pod. The
 * names of a cluster and a user need not exist. */
KIN_EXTERN const char *kin_kubeconfig_context(const kin_kubeconfig *config);
KIN_EXTERN const char *kin_kubeconfig_cluster(const kin_kubeconfig *config);
KIN_EXTERN const char *kin_kubeconfig_user(const kin_kubeconfig *config);

/** Whether the environment of a pod was used. */
KIN_EXTERN bool kin_kubeconfig_is_in_cluster(const kin_kubeconfig *config);

/** The names of all contexts of all files, in their order. NULL past the last.
 */
KIN_EXTERN size_t kin_kubeconfig_context_count(const kin_kubeconfig *config);
KIN_EXTERN const char *kin_kubeconfig_context_at(const kin_kubeconfig *config,
                                                 size_t index);

/** The kubeconfig files that were read, in order. NULL past the last. */
KIN_EXTERN size_t kin_kubeconfig_file_count(const kin_kubeconfig *config);
KIN_EXTERN const char *kin_kubeconfig_file_at(const kin_kubeconfig *config,
                                              size_t index);

#ifdef __cplusplus
}
#endif

#endif /* KIN_KUBECONFIG_H */
