/* SPDX-License-Identifier: MIT */
#ifndef KIN_ERROR_H
#define KIN_ERROR_H

/** @file
 * Error codes, classes of failures, and the answers to failures. */

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Functions that can fail return 0 or a negative code. libuv's codes pass
 * through unchanged (UV_ECONNREFUSED, ...); the library's own lie in [-5999,
 * -5000]. A function that returns an error has started nothing, and no callback
 * will come for it. An out pointer to a handle or an object is NULL then.
 *
 * The following holds for all functions of the library, so the headers do not
 * repeat it. A pointer argument must not be NULL, unless the function's text,
 * or that of its options, says what NULL means. `data` and the `cb` of a close
 * function may always be NULL.
 *
 * A NULL that is not allowed does no harm. A function that returns a code
 * answers KIN_EINVAL and changes nothing. A function that returns a value
 * answers 0, false, NULL, an empty kin_str or "". A void function does nothing,
 * but sets what it would have filled in to zero. A kin_str whose `data` is NULL
 * counts as empty, whatever its length.
 *
 * Structs that begin with their size: see kin/sized.h. */
#define KIN_ERRNO_MAP(XX)                                                      \
  XX(ENOMEM, -5000, "out of memory")                                           \
  XX(EINVAL, -5001, "invalid argument")                                        \
  XX(ENOTSUP, -5002, "option not supported by this version")                   \
  XX(ECLOSED, -5003, "already closed or closing")                              \
  XX(EALREADY, -5004, "already started or already in use")                     \
  XX(EEXIST, -5005, "already exists")                                          \
  XX(ENOENT, -5006, "no such entry")                                           \
  XX(EKEY, -5007, "object has no usable name or the key is malformed")         \
  XX(EINDEX, -5008, "index function failed")                                   \
  XX(ETYPE, -5009, "value has another type")                                   \
  XX(EAGAIN, -5010, "nothing to do now")                                       \
  XX(EMAXBYTES, -5011, "objects need more than max_bytes")                     \
  XX(EJSON, -5020, "malformed JSON")                                           \
  XX(EDEPTH, -5021, "JSON is nested too deeply")                               \
  XX(ETOOBIG, -5022, "over the size limit")                                    \
  XX(ETRUNCATED, -5023, "body ended in the middle of a value")                 \
  XX(EUNEXPECTED, -5024, "valid JSON, but not what was asked for")             \
  XX(EHTTP, -5040, "malformed HTTP")                                           \
  XX(ESTATUS, -5041, "server answered with an error status")                   \
  XX(ECONTENT, -5042, "unsupported content type or encoding")                  \
  XX(EEOF, -5043, "connection ended early")                                    \
  XX(ETIMEDOUT, -5044, "timed out")                                            \
  XX(ERESOLVE, -5045, "server name could not be resolved")                     \
  XX(EGONE, -5046, "resource version is no longer available")                  \
  XX(EURL, -5047, "malformed server URL")                                      \
  XX(ETLS, -5048, "TLS failed")                                                \
  XX(ETOKEN, -5049, "no usable token")                                         \
  XX(EINCONSISTENT, -5050, "cache differs from what the server lists")         \
  XX(ELIBRARY, -5051, "a library in the program is of another version")        \
  XX(EPROXY, -5052, "proxy refused the connection")                            \
  XX(ETLSSETUP, -5053, "TLS files or the scheme of the URL do not fit")        \
  XX(ECONFLICT, -5060, "object is not in the expected state")                  \
  XX(EREJECTED, -5061, "server found the object invalid")                      \
  XX(EAMBIGUOUS, -5062, "word names several resources")

/** The enumerator of a code. */
#define KIN_ERRNO_ENUM(name, value, text) KIN_##name = value,
/** The codes of the library. */
typedef enum kin_errno { KIN_ERRNO_MAP(KIN_ERRNO_ENUM) } kin_errno;
#undef KIN_ERRNO_ENUM

/** Returns a short text for a code of this library, of libuv, or 0. Never NULL;
 * static. */
KIN_EXTERN const char *kin_strerror(int code);

/** Returns the name of a code, such as "KIN_ENOMEM" or "UV_ECONNREFUSED"
 * without its prefix for libuv's. Never NULL; static. */
KIN_EXTERN const char *kin_err_name(int code);

/** The kind of failure that an error event reports. A known reason of a Status
 * decides before its code; 429 is always THROTTLED. */
typedef enum kin_error_class {
  KIN_CLASS_NONE = 0,
  KIN_CLASS_DNS,       /**< the server's name did not resolve */
  KIN_CLASS_CONNECT,   /**< no connection, or it broke, also in a handshake */
  KIN_CLASS_TLS,       /**< handshake or certificate. KIN_ETLSSETUP: a file
                        * cannot be used, or the scheme is not the server's */
  KIN_CLASS_AUTH,      /**< 401, no usable token, or the same of a proxy */
  KIN_CLASS_FORBIDDEN, /**< 403 */
  KIN_CLASS_ABSENT,    /**< 404: the server does not know the resource */
  KIN_CLASS_THROTTLED, /**< 429 */
  KIN_CLASS_SERVER,   /**< any other error status, or an ERROR event; lists that
                        * contradict each other */
  KIN_CLASS_PROTOCOL, /**< malformed HTTP, wrong content type, silence */
  KIN_CLASS_DECODE,   /**< malformed, truncated or oversized JSON, or a
                        * transform that failed on an object */
  KIN_CLASS_MEMORY    /**< an allocation failed, or max_bytes was reached */
} kin_error_class;

/** Returns the name used by the `kinformer` program: "dns", "connect", ...
 * Never NULL; static. */
KIN_EXTERN const char *kin_error_class_name(kin_error_class error_class);

/** The library's action after a failure. KIN_RETRY_AFTER counts only if the
 * next attempt has not begun yet. A watch that was open for a while and breaks
 * is requested again before the callback: retry_in_ms is 0 then. */
typedef enum kin_retry {
  KIN_RETRY = 0,   /**< try again after retry_in_ms (the default) */
  KIN_RETRY_AFTER, /**< try again after the answer's retry_after_ms */
  KIN_STOP         /**< give up; the cache keeps its objects */
} kin_retry;

/** One failure to list or watch, or of a try of a single request, given to the
 * on_error of an informer, a reflector, a controller, a watcher or a request.
 * The strings are valid during the call and never NULL (but may be ""). */
typedef struct kin_error_event {
  size_t size;                 /**< see KIN_HAS */
  int code;                    /**< negative */
  kin_error_class error_class; /**< never KIN_CLASS_NONE */
  int status;             /**< HTTP or Status code; that of the reason, if a
                                * Status has no other; 0: none */
  const char *reason;     /**< Status reason such as "Expired" */
  const char *message;    /**< for people, on one line: what failed, such as
                                * "list of pods in kube-system", and why */
  const char *namespace_; /**< the scope; "" means all namespaces */
  uint32_t attempt;       /**< failures in a row, this one included */
  uint64_t retry_in_ms;   /**< when the next attempt is made; 0: at once, or
                           * there is none */

  kin_retry answer;        /**< set by the callback; KIN_RETRY when it begins */
  uint64_t retry_after_ms; /**< used with KIN_RETRY_AFTER; at most a day */
} kin_error_event;

#ifdef __cplusplus
}
#endif

#endif /* KIN_ERROR_H */
