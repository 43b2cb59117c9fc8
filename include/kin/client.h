/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_H
#define KIN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/log.h>
#include <kin/mutation_detector.h>
#include <kin/warning.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A client is one API server as seen from one loop: its address, its
 * connections, and the scheduler that shares the loop's time among the
 * informers opened on it. It belongs to the loop's thread; doc/embedding.md says
 * what else a program may do with its loop. In a forked child, after
 * uv_loop_fork, a client neither reads nor writes its parent's sockets:
 * attempts to connect fail with UV_ECANCELED, and it can be closed, unless a
 * name look-up or a file was in libuv's pool at the time of the fork.
 *
 * While a watch is open and no byte has come for 30 s, on any connection, the
 * server is asked for /version. If it does not answer within 10 s, the silent
 * watches are given up and opened anew. */
typedef struct kin_client kin_client;

/* One more thing that is said about who is impersonated. */
typedef struct kin_impersonate_extra {
  const char *key; /* any text but the empty one; sent in lower case or not, it
                    * is the same to the server */
  const char *value;
} kin_impersonate_extra;

typedef struct kin_client_options {
  size_t size;

  /* Required: "https://host[:port][/prefix]", or http; IPv6 addresses in
   * brackets. The path is put before every request's. */
  const char *server;

  const char *user_agent; /* NULL: "kinformer/VERSION"; 1 to 256 bytes, no
                           * control characters */
  const kin_allocator *allocator; /* NULL: the C library's; copied */

  kin_log_cb log;          /* NULL: no log */
  void *log_data;          /* passed to log */
  kin_log_level log_level; /* highest level that is passed */

  uint32_t connect_timeout_ms;  /* each address; 0: 10 s; at most an hour. Where
                                 * packets are dropped and nothing is refused, a
                                 * server is in use again at most so long, and
                                 * 5 s, after they pass again */
  uint32_t response_timeout_ms; /* until a response's head, and between two
                                 * reads of a list's body; 0: 30 s; at most an
                                 * hour */

  /* Our own work per loop iteration, handlers included, before the loop gets
   * its turn: reading, timers, deferred calls and all other work together; 0:
   * 500 us; at most a second. An iteration ends with the piece of work in hand,
   * so it takes a little longer than that: up to 1 ms of CPU with the default,
   * if no handler takes long. One step over a single object of more than 256 KB
   * takes longer. */
  uint32_t budget_us;

  /* Talk to whoever answers for the server, unverified: they get the token. Not
   * together with a certificate authority. Logged as a warning. */
  bool insecure_skip_tls_verify;

  /* Ask for lists to be compressed (gzip; an API server does so from 128 KiB
   * on); watches never are. 100 MB of pods come in 12 MB then, for 0.13 s of
   * CPU here and about four times that in the server: more than a network
   * within a cluster takes to carry them, so that it is off by default. A
   * response that is compressed unasked is inflated all the same, in slices.
   * KIN_ENOTSUP in a library that was built without zlib. */
  bool accept_gzip;

  /* Whether each list that came as a watch is what the server lists at the same
   * version, in full; for tests and for hunting. It is asked for once more when
   * it is in the store, again every second while that fails (not when the
   * version has expired), and compared: keys, uids and versions, and with a
   * transform, which runs once more for that, what it has made. A difference is
   * an ERROR in the log, counted (kin_status.inconsistent_lists), and goes to
   * on_error of the informer with KIN_EINCONSISTENT, retry_in_ms 0, and the
   * first keys in its message; of the answers only KIN_STOP counts. Nothing is
   * changed. A source of the program's own is asked for that list while its
   * watch is open.
   *
   * Costs a list, and 20 bytes for each object until it has been compared. Off
   * it costs nothing. */
  bool check_watch_lists;

  /* Seed of all randomness (jitter, hashing); 0: from the operating system. */
  uint64_t seed;

  /* From here to token_file: needs an https server, as does
   * insecure_skip_tls_verify; an empty string is an error.
   *
   * Files are read by libuv's thread pool when they are first needed, and again
   * when they have been replaced: certificates before a new connection (at most
   * once a second, and after a failure of TLS), tokens as said below. So what
   * is replaced or mended takes effect without a restart; connections that are
   * open go on. A file that cannot be read any more changes nothing. */

  /* Who may sign the server's certificate, and nobody else; PEM, one or more
   * certificates, at most 2 MiB, as all of these. The data beats the file.
   * NULL: whom the system trusts (SSL_CERT_FILE, or its bundle). An empty file
   * trusts nobody. */
  const char *certificate_authority_file;
  const char *certificate_authority_data;

  /* Who we are: a certificate, with the chain that leads to its authority, and
   * its private key, unencrypted; PEM. Both or none. */
  const char *client_certificate_file;
  const char *client_certificate_data;
  const char *client_key_file;
  const char *client_key_data;

  /* The name or address that the server's certificate must have; also sent to
   * it, if it is a name. NULL: the host of `server`. */
  const char *tls_server_name;

  /* Sent with every request as "Authorization: Bearer ...": one word of visible
   * ASCII, at most 64 KiB. The file is read before the first request, again
   * before a request that comes 50 s or more later, and after a 401; white
   * space around the token is dropped. Once it could be read it beats `token`;
   * as long as it cannot, the token in hand stays in use. Never logged. */
  const char *token;
  const char *token_file;

  /* Whether somebody writes to the objects of this client's informers, which
   * are not to be written to; for tests and for hunting. What is found is an
   * ERROR in the log and goes to kin_informer_options.on_mutation. OFF costs
   * nothing.
   *
   * CHECKSUM: objects are sealed when they are made. All those in a store are
   * compared, in small steps, from mutation_check_ms after start and again that
   * long after each time; and up to 64 KiB of each once more when it leaves the
   * store. Costs an eighth of the objects' memory, and the processor's time
   * to read them all each time, about 1 us for an object of 5 KB.
   *
   * PROTECT: besides, a write faults (SIGSEGV) at the instruction that does it,
   * and fails with EFAULT in a system call. Each object lies on pages of its
   * own, mapped from the system whatever the allocator, which costs 8 KiB even
   * for a small one and two of the process's mappings: so no more than 16,384
   * objects are protected at a time, as long as the system allows it. The
   * others are treated as with CHECKSUM. */
  kin_mutation_check mutation_check;
  uint32_t mutation_check_ms; /* 0: 1 s; at most an hour */

  /* How many lists are made at a time, of all informers; the others wait for
   * their turn, for as long as list_turn_ms says. 0: 4; at most
   * 65,536. */
  size_t max_lists;

  /* Requests are made in somebody else's name: the server asks whether whoever
   * the credentials belong to may do that, and answers as it would to `user`.
   * All but the user need one. Sent with every request: no control characters,
   * no blanks at the ends, none empty but an extra's value (one key may have
   * several: repeat it), at most 64 KiB in all. Never logged. */
  const char *impersonate_user; /* NULL: nobody */
  const char *impersonate_uid;
  const char *const *impersonate_groups;
  size_t impersonate_group_count;
  const kin_impersonate_extra *impersonate_extra;
  size_t impersonate_extra_count;

  /* What the server warns about, in whatever response; of one response at most
   * 32 warnings and 8 KiB, of a text 1 KiB. Malformed ones are left out. While
   * 64 wait to be told, more are only counted (kin_client_stats.warnings);
   * without memory they are lost. NULL: code 299 with a text is logged as a
   * warning, each text once, as long as it is among the last 128. */
  kin_warning_cb on_warning;
  void *warning_data; /* passed to on_warning */

  /* Our own limit of requests, shared by all informers: so many in a thousand
   * seconds, 5000 for five a second; and how many at once, after a pause.
   * Lists, each page of one, streams that stand for lists, checks, and watches
   * that are tried again wait for their turn, in order; a watch after a list,
   * or after one that ended well, does not, nor does what a source of the
   * program's own is asked. At most a million a second, and a million at once.
   *
   * 0, the default: no limit. Little is asked for: a list and then one watch
   * for each scope, max_lists at a time; and API servers hold off whom they
   * have to (429, which is obeyed), knowing better when. A burst without
   * qps_milli is an error; a burst of 0 is what a second allows, at least 1. */
  uint32_t qps_milli;
  uint32_t burst;

  /* For how long one of the max_lists lists may keep others waiting. A list
   * that is not complete by then goes on, but no longer counts, so that a list
   * that comes byte by byte, or never, delays each other one by this time at
   * most for every max_lists lists that are before that one. Such a list is
   * logged as a warning and counted (kin_status.overdue_lists). 0: 5 s; at most
   * an hour. */
  uint64_t list_turn_ms;

  /* Where kin_client_open, if it fails, puts what is wrong with the options: a
   * text for people, with the name of the option, and its value unless that may
   * be a secret; "" if it succeeds, or fails for another reason. problem_size
   * is the room in bytes, 256 is always enough; a longer text is cut. The same
   * text is an ERROR in the log. NULL: not needed. */
  char *problem;
  size_t problem_size;
} kin_client_options;
#define KIN_CLIENT_OPTIONS_INIT                                                \
  {                                                                            \
    sizeof(kin_client_options), NULL, NULL, NULL, NULL, NULL, KIN_LOG_DEFAULT, \
        0, 0, 0, false, false, false, 0, NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL, NULL, KIN_MUTATION_CHECK_OFF, 0, 0, NULL, NULL, NULL, 0,   \
        NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0                                  \
  }

/* Opens a client on a loop; nothing is sent yet. Everything in `options` is
 * copied; the copies of keys and tokens are wiped when they are of no more use.
 * The loop must outlive the client.
 * Errors: KIN_EINVAL (also a number over its limit, TLS options or credentials
 * for an http server, or ones that contradict each other; `problem` and a log
 * line say which), KIN_EURL (server), KIN_ENOTSUP (options of a newer version,
 * accept_gzip without zlib), KIN_ENOMEM, and libuv's. *out is NULL then. What
 * is wrong with a file or with PEM data comes through on_error of the
 * informers, class KIN_CLASS_TLS or KIN_CLASS_AUTH. */
KIN_EXTERN int kin_client_open(kin_client **out, uv_loop_t *loop,
                               const kin_client_options *options);

/* Called once when a client is gone; `data` as given to kin_client_close. */
typedef void (*kin_client_close_cb)(void *data);

/* Closes what is still open on it, such as informers and factories (each with
 * its own close callback, if it was given one), then the client, and calls cb
 * (may be NULL) from a later loop iteration. After cb nothing of the client is
 * left. No other callback comes after this call, except close callbacks and
 * those that end each kin_wait, each kin_until and each wait for a version
 * (kin_version_cb). Legal in every event callback, and before and after the
 * program closes all handles of its loop (uv_walk and uv_close, with any
 * callback that does not free them): closing completes.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_client_close(kin_client *client, kin_client_close_cb cb,
                                void *data);

/* Whether the client's handles keep uv_run alive: they do (ref) until this is
 * called with unref. Closing always completes in a running loop. */
KIN_EXTERN void kin_client_ref(kin_client *client);
KIN_EXTERN void kin_client_unref(kin_client *client);

/* What was wrong with the options that a function was given last to open
 * something on this client (an informer, a listener, a reflector, ...): a text
 * for people as that of kin_client_options.problem, such as "plural: "Pods" is
 * no resource name"; also an ERROR in the log. "" if it succeeded, or failed
 * for another reason. Borrowed until the next such call. */
KIN_EXTERN const char *kin_client_problem(const kin_client *client);

/* The loop given to kin_client_open. */
KIN_EXTERN uv_loop_t *kin_client_loop(const kin_client *client);

/* What a client has done, for metrics; any time. */
typedef struct kin_client_stats {
  uint64_t iterations;       /* loop iterations in which it had work */
  uint64_t longest_ns;       /* longest of these, handlers excluded: all that
                              * the library does in an iteration, on the wall
                              * clock */
  uint64_t busy_ns;          /* all of these together, handlers excluded */
  uint64_t handler_ns;       /* time spent in handlers */
  uint64_t received_bytes;   /* from sockets */
  uint64_t sent_bytes;       /* to sockets */
  uint64_t requests;         /* sent, watches included */
  uint64_t connections;      /* opened so far */
  uint32_t open_connections; /* now, idle ones included */
  uint64_t delayed_requests; /* sent after a wait for qps_milli */
  uint64_t delayed_ns;       /* these waits together */
  uint64_t warnings;         /* well-formed ones from the server */
  uint32_t lists;            /* being made now; at most max_lists */
  uint32_t waiting_lists;    /* that wait for their turn now */
  uint32_t overdue_lists;    /* being made now, and no longer waited for */
} kin_client_stats;

/* Reads them, any time before the close callback. Cost: O(1). */
KIN_EXTERN void kin_client_get_stats(const kin_client *client,
                                     kin_client_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* KIN_CLIENT_H */
