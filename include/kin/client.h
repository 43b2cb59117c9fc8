/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_H
#define KIN_CLIENT_H

/** @file
 * Clients: one API server as seen from one loop. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/allocator.h>
#include <kin/exec_plugin.h>
#include <kin/export.h>
#include <kin/log.h>
#include <kin/mutation_detector.h>
#include <kin/warning.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A client is one API server as seen from one loop: its address, its
 * connections, and the scheduler that shares the loop's time among the
 * informers of the client. A client belongs to the loop's thread.
 * doc/embedding.md says what else a program may do with its loop.
 *
 * In a forked child, after uv_loop_fork, a client neither reads nor writes its
 * parent's sockets. Attempts to connect fail with UV_ECANCELED. The child can
 * close the client, unless a name look-up, a file, memory that is prepared
 * (no_memory_helper) or objects of compact storage were in libuv's thread pool
 * at the time of the fork.
 *
 * While a watch is open and no byte has come for 30 s on any connection, the
 * client asks the server for /version. The client gives up the silent watches,
 * and opens them anew, in three cases. The server does not answer within 10 s
 * or a shorter response_timeout_ms. A new connection fails, or a step of it
 * takes longer than connect_timeout_ms, or 20 s if that is shorter. Two
 * look-ups of the server's name, one after the other, each bring nothing within
 * 10 s or a shorter connect_timeout_ms; an error of the resolver is an answer.
 * A question that waits for this host so long, for a file or for a thread of
 * libuv's pool, or that fails for want of descriptors, local ports or memory,
 * shows nothing: the server is asked again 30 s later. */
typedef struct kin_client kin_client;

/** One extra attribute of the impersonated user. */
typedef struct kin_impersonate_extra {
  /** Not empty. Upper and lower case are the same to the server. */
  const char *key;
  const char *value;
} kin_impersonate_extra;

/** Options of kin_client_open. */
typedef struct kin_client_options {
  size_t size; /**< set by the INIT macro */

  /* --- The server, and the loop's share --- */

  /** Required: "https://host[:port][/prefix]", or http; IPv6 addresses in
   * brackets. The prefix comes before the path of every request. Or
   * "unix:///path": plain HTTP to a unix socket, such as that of `kubectl proxy
   * --unix-socket`; the path goes to the end of the text, is not
   * percent-encoded, and has at most 107 bytes (103 on other systems than
   * Linux). */
  const char *server;

  const char *user_agent; /**< NULL: "kinformer/VERSION"; 1 to 256 bytes, no
                           * control characters */
  const kin_allocator *allocator; /**< NULL: the C library's; copied */

  /** The library's work per loop iteration before the loop gets its turn; 0:
   * 500 us; at most a second. Reading, timers, deferred calls, handlers and all
   * other work count together. A piece of work begins only if another one as
   * long as the longest of the iteration would still fit; of deferred calls, of
   * timers and of all other work one piece each begins in any case. So an
   * iteration takes longer than the budget if a piece takes longer than all
   * before it: with the default up to 1 ms of CPU, if no handler takes long. One
   * step over a single object of more than 256 KB takes longer, and so does one
   * over an object with more than a thousand values in an index; with compact
   * storage, over smaller objects, too (kin_compact). */
  uint32_t budget_us;

  /* --- What goes wrong --- */

  kin_log_level log_level; /**< highest level that is passed */
  kin_log_cb log;          /**< NULL: no log */
  void *log_data;          /**< passed to log */

  /** Where kin_client_open, if it fails, writes what is wrong with the options:
   * a text for people, with the name of the option, and its value unless that
   * may be a secret. "" if kin_client_open succeeds, or fails for another
   * reason. problem_size is the room in bytes: 256 is always enough, a longer
   * text is cut. The same text is an ERROR in the log. NULL: not needed. If
   * `size` does not reach the end of problem_size (0 in options without the INIT
   * macro), no other field can be trusted: nothing is written or logged. */
  char *problem;
  size_t problem_size;

  /** Called for each warning of the server, in any response: at most 32
   * warnings and 8 KiB of one response, 1 KiB of a text. Malformed warnings are
   * left out. While 64 warnings wait for the callback, further ones are only
   * counted (kin_client_stats.warnings); without memory warnings are lost.
   * NULL: code 299 with a text is logged as a warning, each text once, as long
   * as it is among the last 128. */
  kin_warning_cb on_warning;
  void *warning_data; /**< passed to on_warning */

  /* --- TLS and credentials --- */

  /* These options need an https server; an empty string is an error.
   *
   * libuv's thread pool reads files when they are first needed, and again when
   * they have been replaced. Tokens: as said below. Certificates: before a new
   * connection (at most once a second, and after a failure of TLS), and before
   * a request on a kept connection (at most once a minute). So a replaced or
   * corrected file takes effect without a restart. After a change, of the
   * client's certificate or of an authority, new connections use the new files,
   * and no TLS session of the old ones. Idle connections are closed at once, the
   * others when their response is complete: a watch ends by itself after 5 to 10
   * minutes, is opened anew, and loses no event. (client-go breaks all
   * connections when the client's certificate changes.) A file that can no
   * longer be read, or that has the same content as before, changes nothing. A
   * reading that takes long, because the pool is busy or a file system does not
   * answer, delays a request by a second: then the token that was read before is
   * used, until the reading ends. The same holds for the certificates of the
   * server and of a proxy, a second each. But what has been refused is not used
   * again meanwhile: after a 401, or a failure of TLS, a request that needs the
   * files looked at waits for up to connect_timeout_ms, and then fails. */

  /** The only authorities that may sign the server's certificate: PEM, one or
   * more certificates. At most 2 MiB, as for all PEM options. The data has
   * precedence over the file. NULL: the authorities that the system trusts:
   * the file SSL_CERT_FILE, or the bundle of the distribution, and the files in
   * the directories of SSL_CERT_DIR, which has a colon between two paths, or
   * without any bundle in those of the distribution. An empty file trusts no
   * authority. */
  const char *certificate_authority_file;
  const char *certificate_authority_data;

  /** The client's certificate, with the chain that leads to its authority, and
   * its private key, unencrypted; PEM. Both or none. */
  const char *client_certificate_file;
  const char *client_certificate_data;
  const char *client_key_file;
  const char *client_key_data;

  /** Sent with every request as "Authorization: Bearer ...": one word of
   * visible ASCII, at most 64 KiB. The file, at most 68 KiB, is read before the
   * first request, again before a request that comes 50 s or more later, and
   * after a 401; white space around the token is dropped. After its first
   * successful read the file has precedence over `token`. While the file cannot
   * be read, the last token stays in use; requests then try the file again at
   * most once a second, unless a 401 came. Never logged. */
  const char *token;
  const char *token_file;

  /** A program that prints a token or a client certificate; see
   * kin/exec_plugin.h. Not run if there is a token, a token file, a user name,
   * a password or a client certificate. NULL: none. */
  const kin_exec_plugin *exec;

  /** The name or address that the server's certificate must have. A name is
   * also sent to the server (SNI). NULL: the host of `server`. */
  const char *tls_server_name;

  /** Do not verify the server's certificate: any host that answers gets the
   * token. Not together with a certificate authority. Logged as a warning. */
  bool insecure_skip_tls_verify;

  /* --- Impersonation --- */

  /** The server checks that the owner of the credentials may impersonate, and
   * then answers as it would answer `user`. All other fields need a user. Sent
   * with every request: no control characters, no blanks at the ends, at most
   * 64 KiB in all. None may be empty but the value of an extra. A key with
   * several values is given several times. Never logged. */
  const char *impersonate_user; /**< NULL: none */
  const char *impersonate_uid;
  const char *const *impersonate_groups;
  size_t impersonate_group_count;
  const kin_impersonate_extra *impersonate_extra;
  size_t impersonate_extra_count;

  /* --- Time limits, and the load on the server --- */

  /** For each address; 0: 10 s; at most an hour. Of several addresses
   * the next is tried 250 ms after the last, or at once after a failure, and
   * the first that connects is used; so a dead one costs 250 ms. If the network
   * drops packets and refuses none, the client uses the server again at most
   * this long plus 5 s after packets pass again, plus 250 ms for each address
   * after the first. */
  uint32_t connect_timeout_ms;
  /** Until a response's head, and between two reads that bring bytes of a list's
   * body; 0: 30 s; at most an hour. Chunk sizes, trailers and the like are no
   * such bytes. A list's body also fails (KIN_ETIMEDOUT) if 10 minutes bring
   * less than 10 KiB; a longer time between two reads counts as 5 s. */
  uint32_t response_timeout_ms;

  /** Maximum number of lists of all informers at a time; 0: 4; at most 65,536.
   * The others wait for their turn, for as long as list_turn_ms says. */
  size_t max_lists;

  /** Time for which one of the max_lists lists may keep others waiting; 0: 5 s;
   * at most an hour. A list that is not complete by then goes on, but no longer
   * counts. So a list that comes byte by byte, or never, delays any other list
   * by at most this time for every max_lists lists before that one. An overdue
   * list is logged as a warning and counted (kin_status.overdue_lists). */
  uint64_t list_turn_ms;

  /** The client's own limit of requests, shared by all informers. qps_milli:
   * requests in a thousand seconds, 5000 for five a second; at most a million a
   * second. burst: how many at once, after a pause; at most a million.
   *
   * Lists, each page of one, lists that come as watches, checks, retried
   * watches, and each try of a kin_request wait for their turn, in order. A
   * watch after a list, or after a watch that ended well, does not wait.
   * Requests to a source of the program's own do not wait.
   *
   * 0, the default: no limit. The client sends few requests: a list and then
   * one watch for each scope, max_lists at a time. API servers throttle with
   * 429, which the client obeys, and know better when. A burst without
   * qps_milli is an error. A burst of 0 is the number that a second allows, at
   * least 1. */
  uint32_t qps_milli;
  uint32_t burst;

  /** Ask for compressed lists (gzip; an API server compresses from 128 KiB on);
   * watches are never compressed. 100 MB of pods then come in 12 MB, for 0.13 s
   * of CPU here and about four times that in the server. A network within a
   * cluster carries them in less time, so the default is off. A response that
   * is compressed unasked is inflated all the same, in slices. KIN_ENOTSUP in a
   * library that was built without zlib. */
  bool accept_gzip;

  /** Memory for objects comes from the system without the help of libuv's pool.
   * By default, while objects arrive fast (40 MB/s), the pool takes memory from
   * the system ahead of them: at most a sixteenth of what they have, and 16
   * MiB. Memory that is not needed for a second goes back. The loop's thread
   * then needs about a third less CPU time for a first list; the process needs
   * as much as without help. The program's own work in the pool may have to
   * wait for a few milliseconds. There is no help with an allocator of the
   * program's, or with mutation_check. libuv starts the pool's threads with the
   * first work, and aborts the process if it cannot.
   *
   * In compact storage (kin_informer_options.compact) the pool also packs the
   * objects of a list, four batches of 64 at a time. Without help the loop's
   * thread packs them all. Dictionaries are made in the pool in any case. */
  bool no_memory_helper;

  /* --- Tests and debugging --- */

  /** Verify each list that came as a watch against a full list of the same
   * version. The client requests the full list when the first one is in the
   * store. A request that fails is repeated every second, unless the version
   * has expired. KIN_STOP and a change of the shard end the comparison, and so
   * does a handler that writes to the store while it is told of the first list.
   * The comparison covers keys, uids and versions. With a transform it also
   * covers the transform's results; the transform runs once more for that.
   *
   * A difference is an ERROR in the log and is counted
   * (kin_status.inconsistent_lists). The informer's on_error is called with
   * KIN_EINCONSISTENT, retry_in_ms 0, and the first keys in its message; of the
   * answers only KIN_STOP counts. The check changes nothing in the store. A
   * source of the program's own is asked for that list while its watch is open.
   *
   * Costs a list, and 20 bytes for each object until the comparison is done.
   * Off, the check costs nothing. KIN_ENOTSUP in a library that was built
   * without the option `checks`. */
  bool check_watch_lists;

  /** Detect writes to the objects of this client's informers, which must not be
   * written to. A write that is found is an ERROR in the log and goes to
   * kin_informer_options.on_mutation. OFF costs nothing.
   *
   * CHECKSUM: objects are sealed when they are made. All objects in a store are
   * compared, in small steps, mutation_check_ms after start and again that long
   * after each comparison. When an object leaves the store, up to 64 KiB of it
   * are compared once more. Costs an eighth of the objects' memory, and per
   * comparison the CPU time to read all objects, about 1 us for an object of
   * 5 KB.
   *
   * PROTECT: in addition, a write faults (SIGSEGV) at its instruction, and
   * fails with EFAULT in a system call. Each object lies on pages of its own,
   * mapped from the system whatever the allocator. That costs 8 KiB even for a
   * small object, and two of the process's mappings. So at most 16,384 objects
   * are protected at a time, as long as the system allows it. The others are
   * treated as with CHECKSUM.
   *
   * KIN_ENOTSUP in a library that was built without the option `checks`. */
  kin_mutation_check mutation_check;
  uint32_t mutation_check_ms; /**< 0: 1 s; at most an hour */

  /** Seed of all randomness (jitter, hashing); 0: from the operating system. */
  uint64_t seed;

  /* --- More ways to the server --- */

  /** The proxy: "http://", "https://" or "socks5://" (also "socks5h://"), then
   * "[user[:password]@]host[:port]"; bytes of the user information may be
   * percent-encoded. Without a port: 80, 443 and 1080. At most 4,096 bytes. An
   * https proxy must have a certificate that the system trusts.
   *
   * NULL: as the environment says. HTTPS_PROXY is for an https server,
   * HTTP_PROXY for an http server, also in small letters; "host:port" is an
   * http proxy. NO_PROXY has servers without a proxy, with a comma between two:
   * names (with all names below), ".name" (only those below), addresses, ranges
   * such as 10.0.0.0/8, each but a range also with ":port"; "*" is all servers.
   * The environment is read once, by kin_client_open (not so for a client from a
   * kubeconfig: kin/kubeconfig.h). It never applies to
   * localhost and loopback addresses; HTTP_PROXY not if REQUEST_METHOD is set
   * (a CGI program).
   *
   * "": no proxy. Never logged, but for scheme, host and port. doc/network.md
   * has more. KIN_ENOTSUP in a library that was built without proxies, which
   * does not read the environment either. */
  const char *proxy_url;

  /** The only authorities that may sign the certificate of an https proxy, as
   * certificate_authority_file does for the server. NULL: the authorities that
   * the system trusts. Without an https proxy nothing reads the file. */
  const char *proxy_certificate_authority_file;

  /** Sent with every request as "Authorization: Basic ...", to an https server
   * only: a name, not empty and without a colon, and a password (NULL: an empty
   * one); no control characters, at most 16 KiB each. Not together with a
   * token. Never logged. */
  const char *username;
  const char *password;

  /* --- Memory --- */

  /** Bound of the objects of all informers of this client, in bytes; 0: none.
   * The informer whose object does not fit is asked, by its on_max_bytes. The
   * others go on with objects that fit. kin_informer_options.max_bytes has what
   * counts; objects of reflectors, pagers, watchers and requests do not. */
  uint64_t max_bytes;

  /* --- Many events --- */

  /** Time for which events of a busy watch may wait in its socket, in ms, so
   * that they are read together; 0, the default: none; at most 1,000. The
   * loop's timers may add a millisecond.
   *
   * To wake a thread costs as much as to receive several events: with 1, a
   * client that gets 50,000 events a second needs half the CPU time. A watch is
   * busy if its socket was read empty twice within twice this time. So an event
   * after a pause does not wait. All watches that wait are read in the same
   * turn of the loop. Lists and other requests do not wait, but for a list that
   * comes as a watch. */
  uint64_t watch_read_delay_ms;
} kin_client_options;
/** Sets the size, and each member to its default. */
#define KIN_CLIENT_OPTIONS_INIT                                                \
  {                                                                            \
    sizeof(kin_client_options), NULL, NULL, NULL, 0, KIN_LOG_DEFAULT, NULL,    \
        NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL, NULL, false, NULL, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0, 0,  \
        0, false, false, false, KIN_MUTATION_CHECK_OFF, 0, 0, NULL, NULL,      \
        NULL, NULL, 0, 0                                                       \
  }

/** Opens a client on a loop; nothing is sent yet. Everything in `options` is
 * copied; the copies of keys and tokens are wiped after their last use. The
 * loop must outlive the client.
 * Errors: KIN_EINVAL (also a number over its limit, TLS options or credentials
 * for an http server or that contradict each other, a proxy for a unix socket;
 * `problem` and a log line say which), KIN_EURL (server, proxy_url, or the
 * environment's proxy), KIN_ENOTSUP (options of a newer version, accept_gzip
 * without zlib, proxy_url without proxies, exec without exec plugins,
 * check_watch_lists or mutation_check without checks),
 * KIN_ELIBRARY (the program uses another llhttp, yyjson, zlib, zstd, OpenSSL or
 * libuv than this library needs; `problem` says which), KIN_ENOMEM, and
 * libuv's. *out is NULL then. Errors in a file or in PEM data come through
 * on_error of the informers, class KIN_CLASS_TLS or KIN_CLASS_AUTH. */
KIN_EXTERN int kin_client_open(kin_client **out, uv_loop_t *loop,
                               const kin_client_options *options);

/** Called once when a client is gone; `data` as given to kin_client_close. */
typedef void (*kin_client_close_cb)(void *data);

/** Closes what is still open on the client, such as informers and factories
 * (each with its own close callback, if it was given one), then the client.
 * Calls cb (may be NULL) from a later loop iteration. After cb nothing of the
 * client is left. No other callback comes after this call, except close
 * callbacks and those that end each kin_request, each look-up of kin_discovery
 * (kin_discovery_cb), each kin_wait, each kin_until, each wait for a version
 * (kin_version_cb) and each run of a leader elector (kin_leader_stopped_cb).
 *
 * Legal in every event callback. Also legal before and after the program closes
 * all handles of its loop (uv_walk and uv_close, with any callback that does
 * not free them): closing completes.
 * Errors: KIN_EALREADY (closing; cb is not called).
 * Cost: O(what is open on the client + namespaces of its informers); the memory
 * is freed in later loop iterations. */
KIN_EXTERN int kin_client_close(kin_client *client, kin_client_close_cb cb,
                                void *data);

/** Changes kin_client_options.max_bytes; 0: no bound. Informers that are paused
 * because of it try again by themselves, and informers that have dropped bodies
 * stay as they are; kin_informer_set_max_bytes changes both at once.
 *
 * Legal in every event callback.
 * Errors: KIN_ECLOSED (closing). Cost: O(1). */
KIN_EXTERN int kin_client_set_max_bytes(kin_client *client, uint64_t max_bytes);

/** Sets whether the client's handles keep uv_run alive. They do by default and
 * after ref, not after unref. Closing always completes in a running loop. Do
 * not call unref where another loop drives uv_run(UV_RUN_NOWAIT): if no other
 * handle keeps the loop alive, uv_run does nothing. */
KIN_EXTERN void kin_client_ref(kin_client *client);
KIN_EXTERN void kin_client_unref(kin_client *client);

/** The error text of the options in the last call that opened something on this
 * client (an informer, a listener, a reflector, ...), added an index to the
 * store of an informer or controller, or changed an informer's namespaces or
 * shard: a text for people as that of kin_client_options.problem, such as
 * "plural: "Pods" is no resource name". The same text is an ERROR in the log.
 * "" if that call succeeded, or failed for another reason. A call of
 * kin_event_recorder_record that answers KIN_EINVAL leaves its text here, too.
 * Borrowed until the next such call. */
KIN_EXTERN const char *kin_client_problem(const kin_client *client);

/** The loop given to kin_client_open. */
KIN_EXTERN uv_loop_t *kin_client_loop(const kin_client *client);

/** Counters of a client, for metrics; may be read at any time. */
typedef struct kin_client_stats {
  size_t size; /**< set by the INIT macro */

  /* --- Time on the loop --- */
  uint64_t iterations; /**< loop iterations in which the client had work */
  uint64_t longest_ns; /**< longest of these, handlers excluded: all work of the
                        * library in an iteration, on the wall clock */
  uint64_t busy_ns;    /**< all of these in total, handlers excluded */
  uint64_t handler_ns; /**< time spent in handlers */

  /* --- Connections --- */
  uint64_t received_bytes;   /**< from sockets */
  uint64_t sent_bytes;       /**< to sockets */
  uint64_t connections;      /**< opened so far */
  uint32_t open_connections; /**< now, idle ones included */

  /* --- Lists now --- */
  uint32_t lists;         /**< lists that run; at most max_lists */
  uint32_t waiting_lists; /**< lists that wait for their turn */
  uint32_t overdue_lists; /**< running lists for which others no longer wait */

  /* --- Requests --- */
  uint64_t requests;         /**< sent, watches included */
  uint64_t delayed_requests; /**< sent after a wait for qps_milli */
  uint64_t delayed_ns;       /**< these waits in total */
  uint64_t warnings;         /**< well-formed ones from the server */

  /* --- Runs of the exec plugin, each counted once but for exec_unusable --- */
  uint64_t exec_succeeded; /**< ended with exit code 0 */
  uint64_t exec_failed;    /**< another exit code, a signal, too much output, or
                            * its time was over */
  uint64_t exec_not_found; /**< there was no such executable */
  uint64_t exec_internal;  /**< not started for another reason */
  uint64_t exec_denied;    /**< not started, because of the policy */
  uint64_t exec_unusable;  /**< of exec_succeeded: without usable output */
  int64_t exec_certificate_expires_s; /**< expiry of the plugin's certificate in
                                       * seconds since 1970; 0: it has none */

  /** Of the informers' objects, as kin_client_options.max_bytes counts. */
  uint64_t object_bytes;
  /** Of all objects in this client's memory: cached, staged, in queues of
   * listeners, or held by the program (kin_object_ref); tables that grow with
   * them included. Not included: objects of over 64 KiB (with an allocator of
   * the program's own 8 KiB), those under mutation_check, and those that a
   * transform or compact storage has not handled yet. If this grows while
   * object_bytes does not, listeners have long queues, or the program holds
   * references. */
  uint64_t live_object_bytes;
} kin_client_stats;
/** Sets the size, and each member to its default. */
#define KIN_CLIENT_STATS_INIT                                                  \
  {                                                                            \
    sizeof(kin_client_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
        0, 0, 0, 0, 0, 0, 0, 0                                                 \
  }

/** Copies the counters, any time before the close callback. `stats` begins as
 * KIN_CLIENT_STATS_INIT.
 * Errors: KIN_EINVAL (the size); nothing is written then. Cost: O(1). */
KIN_EXTERN int kin_client_get_stats(const kin_client *client,
                                    kin_client_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* KIN_CLIENT_H */
