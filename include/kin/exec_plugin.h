/* SPDX-License-Identifier: MIT */
#ifndef KIN_EXEC_PLUGIN_H
#define KIN_EXEC_PLUGIN_H

/** @file
 * Exec credential plugins: programs that print the credentials of a client. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One variable of a plugin's environment. */
typedef struct kin_exec_variable {
  const char *name;  /**< not empty, no '=' */
  const char *value; /**< may be empty */
} kin_exec_variable;

/** Whether a plugin gets the standard input of the process. */
typedef enum kin_exec_interactive {
  KIN_EXEC_INTERACTIVE_UNSET = 0, /**< IF_AVAILABLE for v1beta1; an error for
                                   * v1 */
  KIN_EXEC_INTERACTIVE_NEVER,
  KIN_EXEC_INTERACTIVE_IF_AVAILABLE, /**< if standard input is a terminal */
  KIN_EXEC_INTERACTIVE_ALWAYS /**< the plugin is not run unless standard input
                               * is a terminal */
} kin_exec_interactive;

/** Where a plugin's standard error goes. */
typedef enum kin_exec_stderr {
  KIN_EXEC_STDERR_INHERIT = 0, /**< to that of the process, as with client-go */
  KIN_EXEC_STDERR_LOG, /**< to the client's log, level WARN, line by line: the
                        * first 64 lines of a run, 511 bytes of each. The client
                        * cannot know whether a line holds a secret */
  KIN_EXEC_STDERR_DISCARD
} kin_exec_stderr;

/** The plugins that the program allows; no configuration file says this. */
typedef enum kin_exec_policy {
  KIN_EXEC_POLICY_ALLOW_ALL = 0,
  KIN_EXEC_POLICY_DENY_ALL,
  KIN_EXEC_POLICY_ALLOWLIST
} kin_exec_policy;

/** An exec credential plugin, as `exec` of a user in a kubeconfig: a program
 * that prints an ExecCredential with a bearer token, or with a client
 * certificate and its key, or with both.
 *
 * The plugin runs before the first request, before a request that finds the
 * credential expired, and before the request that follows a 401. All requests
 * wait for the one run. The loop never waits: the plugin's files and the CA
 * file are read in libuv's thread pool, and its output comes through the loop.
 * The start of the process blocks it: on Linux from 5.3 on for 0.1 ms, whatever
 * the program's size. Elsewhere, and in a sandbox that refuses pidfd_open, it is
 * uv_spawn, which blocks for as long as fork() takes: 0.2 ms in a small program,
 * 1.4 ms with 100 MB, 20 ms with 1 GB (doc/credentials.md).
 *
 * A run that fails fails the requests that wait with "getting credentials: ..."
 * (KIN_ETOKEN, class KIN_CLASS_AUTH), unless there is a credential that has not
 * expired. The next run comes no earlier than 1 s later, then 2 s, 4 s and so
 * on, up to 30 s; requests in between fail at once. After a 401 the plugin runs
 * at once, but not twice within 10 s. All other runs begin at least a second
 * after the one before has ended.
 *
 * If a run brings another certificate, idle connections close, watches are
 * opened anew from their last version, and other running requests end on their
 * connections.
 *
 * Requires an https server. Not run if the client's options have a token, a
 * token file, a user name, a password or a client certificate. KIN_ENOTSUP in a
 * library that was built without the option `exec`. */
typedef struct kin_exec_plugin {
  size_t size; /**< set by the INIT macro */

  /** Required: "client.authentication.k8s.io/v1" or ".../v1beta1". The plugin
   * must answer with the same version. */
  const char *api_version;
  /** Required. A name without a slash is looked up in PATH, whose relative
   * entries do not count. A program that runs with more rights than its caller
   * (setuid, setgid, file capabilities) does not read PATH: it needs a slash. */
  const char *command;
  const char *const *args;
  size_t arg_count; /**< at most 1,024 */
  /** Beside the environment of the process, of which they replace variables of
   * the same name. KUBERNETES_EXEC_INFO is added. */
  const kin_exec_variable *variables;
  size_t variable_count; /**< at most 1,024 */

  /** For the error if the command is not found, at most ten times an hour, on
   * one line, cut to 256 bytes. NULL: none. */
  const char *install_hint;

  kin_exec_interactive interactive; /**< UNSET is refused for v1 */
  /** The program needs standard input for itself: as if it were no terminal.
   * The message (NULL: none) is for the error if `interactive` is ALWAYS. */
  bool stdin_unavailable;
  const char *stdin_unavailable_message;

  /** Tell the plugin about the cluster, in spec.cluster of its
   * KUBERNETES_EXEC_INFO: the client's server, tls_server_name,
   * insecure_skip_tls_verify, the content of its certificate authority, and the
   * following. A system that allows less in one variable refuses to start the
   * plugin; Linux allows 128 KiB. */
  bool provide_cluster_info;
  bool disable_compression;
  const char *proxy_url;      /**< NULL: none */
  const char *cluster_config; /**< JSON: the value of spec.cluster.config; at
                               * most 64 KiB; NULL: none */

  /** The time of a run; 0: 60 s, and 5 minutes if it is interactive; at most an
   * hour. Unlike client-go, which waits for ever. When it is over, the plugin
   * gets SIGTERM, and SIGKILL 2 s later. A plugin that is not interactive is
   * the leader of a session of its own, and all processes of its group get
   * these signals. If the plugin ends at SIGTERM, what is left of its group gets
   * SIGKILL at once (not where uv_spawn starts it). */
  uint32_t timeout_ms;

  kin_exec_stderr stderr_to; /**< where its standard error goes */

  kin_exec_policy policy; /**< whether it may run */
  /** For ALLOWLIST: normalized paths, or names to be looked up in PATH. At
   * least one, none empty, at most 1,024. For the other policies: none. */
  const char *const *allowlist;
  size_t allowlist_count;
} kin_exec_plugin;
/** Sets the size, and each member to its default. */
#define KIN_EXEC_PLUGIN_INIT                                                   \
  {                                                                            \
    sizeof(kin_exec_plugin), NULL, NULL, NULL, 0, NULL, 0, NULL,               \
        KIN_EXEC_INTERACTIVE_UNSET, false, NULL, false, false, NULL, NULL, 0,  \
        KIN_EXEC_STDERR_INHERIT, KIN_EXEC_POLICY_ALLOW_ALL, NULL, 0            \
  }

#ifdef __cplusplus
}
#endif

#endif /* KIN_EXEC_PLUGIN_H */
