/* SPDX-License-Identifier: MIT */
#ifndef KIN_REQUEST_H
#define KIN_REQUEST_H

/** @file
 * Single requests: get, create, update, patch, apply, delete, and any other
 * path of the server. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/lister_watcher.h>
#include <kin/object.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One request, from its start until its callback has returned (client-go's
 * rest.Request). Requests use the client's connections, TLS, credentials, and
 * limit of requests (qps_milli).
 *
 * A request is sent again, with all of its body, in two cases, as by client-go:
 * - The server answers 429 or 5xx with a Retry-After in seconds, to any verb:
 *   it asks for the request again. The wait is that time, a day at most.
 * - The connection breaks before the head of an answer comes, for GET, HEAD and
 *   OPTIONS only. The wait is a second. No other verb is repeated, because the
 *   server may have carried out the first request. A connection that is refused
 *   and a timeout are final.
 * In each case the limit of requests comes after the wait. A connection that the
 * server has closed while it was idle costs no try. Redirects are not
 * followed. */
typedef struct kin_request kin_request;

/** The operation of a request. */
typedef enum kin_verb {
  KIN_VERB_GET = 0, /**< an object; without a name, a list in one answer */
  KIN_VERB_CREATE,  /**< POST; the name is in the body, except for a
                     * subresource */
  /** PUT; fails with KIN_ECONFLICT if the object is no longer of the body's
   * resourceVersion. Replaces the whole object. An object from an informer with
   * fields, drop_labels, metadata_only or a transform is not whole, and neither
   * is one that is kept with its key only (kin_object_is_key_only): a PUT of it
   * deletes the rest on the server. Get the object first, or send a patch. */
  KIN_VERB_UPDATE,
  KIN_VERB_PATCH_JSON,  /**< PATCH, RFC 6902: a list of operations */
  KIN_VERB_PATCH_MERGE, /**< PATCH, RFC 7396: the members that change */
  /** PATCH as with MERGE, but lists are merged by the type's rules; not for
   * custom resources. */
  KIN_VERB_PATCH_STRATEGIC,
  /** Server-side apply: the fields that field_manager wants to own, in JSON.
   * Creates the object if there is none. */
  KIN_VERB_APPLY,
  KIN_VERB_DELETE,            /**< an object */
  KIN_VERB_DELETE_COLLECTION, /**< all objects that parameters select */
  KIN_VERB_HEAD,              /**< as GET, without a body; needs `path` */
  KIN_VERB_OPTIONS            /**< needs `path` */
} kin_verb;

/** The fate of the objects that a deleted object owns. */
typedef enum kin_propagation {
  KIN_PROPAGATION_DEFAULT = 0, /**< the resource's own rule */
  KIN_PROPAGATION_ORPHAN,      /**< they stay */
  KIN_PROPAGATION_BACKGROUND,  /**< they are deleted after the object */
  KIN_PROPAGATION_FOREGROUND   /**< they are deleted before the object */
} kin_propagation;

/** Called for each failure that is followed by another try; an event callback.
 * event->attempt counts the tries, event->retry_in_ms is the wait. The callback
 * may answer: with KIN_STOP the request ends with this failure, with
 * KIN_RETRY_AFTER it waits as long as the answer says. */
typedef void (*kin_request_error_cb)(kin_error_event *event, void *data);

/** A request as the program wants it. The library copies everything. */
typedef struct kin_request_spec {
  size_t size;   /**< set by the INIT macro */
  kin_verb verb; /**< what to do */

  /* --- Where: a resource, or a path --- */

  /** As in kin_informer_options: group NULL or "" is the core group; version
   * NULL is "v1"; plural is required without a path. */
  const char *group;
  const char *version;
  const char *plural;
  /** NULL: none, that is, the resource has no namespaces, or a list of all of
   * them. "" counts as NULL for a list only: elsewhere it is an error, because
   * the caller probably lost a namespace. */
  const char *namespace_;
  /** The object's name. NULL: none, for KIN_VERB_CREATE, for
   * KIN_VERB_DELETE_COLLECTION, and to list. "" is an error. Name and namespace
   * must not be "." or "..", and have no '/' and no '%'; other bytes are
   * percent-encoded. */
  const char *name;
  /** "status", "scale", "eviction", ...: one or more segments with '/' between
   * them. NULL: none. Needs a name. */
  const char *subresource;

  /** Instead of all of the above: the path, which begins with '/' and is
   * percent-encoded, and may have a query: "/version",
   * "/apis/metrics.k8s.io/v1beta1/nodes". The prefix of the client's server
   * comes before it. NULL: none. */
  const char *path;

  /** Query parameters, such as {"limit", "10"}; sorted by name, those of one
   * name in order. At most 64, and 64 KiB. "watch" is an error: informers and
   * watchers watch. The library itself sets fieldManager, fieldValidation,
   * force, dryRun and timeout. */
  const kin_parameter *parameters;
  size_t parameter_count;

  /* --- The body --- */

  /** At most 3 MiB, as API servers accept; NULL with a length of 0: none. The
   * library does not look into it. */
  const char *body;
  size_t body_length;
  /** NULL: that of the verb, for all but the patches application/json. */
  const char *content_type;
  /** The types that the answer may have. NULL: JSON, or else any type. */
  const char *accept;

  /* --- Writes --- */

  /** The name of the writer in managedFields. Required for KIN_VERB_APPLY;
   * NULL: the server takes the user agent up to its first '/'. */
  const char *field_manager;
  /** "Ignore", "Warn" or "Strict": unknown and duplicate fields of the body.
   * Warnings go to the client's on_warning. NULL: the server's default. */
  const char *field_validation;
  bool force;   /**< KIN_VERB_APPLY: take fields over from other managers */
  bool dry_run; /**< check and answer, but store nothing */

  /* --- Deletion; with any of these the library makes the body --- */

  /** The object must have this uid, and this resourceVersion, else the request
   * fails with KIN_ECONFLICT. NULL: any. */
  const char *precondition_uid;
  const char *precondition_version;
  kin_propagation propagation;
  /** grace_period_s counts only if this is set; 0 seconds is at once. */
  bool has_grace_period;
  uint32_t grace_period_s;

  /* --- Limits --- */

  /** Of all tries, waits and the client's limit of requests together, in
   * milliseconds; 0: 60 s; KIN_NEVER: no limit but the client's, for each try.
   * A value that the program sets is also sent to the server ("timeout"). If a
   * wait would end later, the request ends with the failure at once. If only
   * the end of a refusal's body is missing then, the result is the refusal. A
   * loop that was blocked until over 100 ms later reads for 100 ms more, once:
   * the answer may be in the socket. */
  uint32_t timeout_ms;
  /** Of the answer's body, after decompression; 0: 16 MiB; at most 1 GiB. The
   * body of an error is cut at 64 KiB. */
  size_t max_response_bytes;
  uint32_t max_retries; /**< 0: 10; at most 10 */
  bool no_retries;
  kin_request_error_cb on_error; /**< may be NULL: retried all the same */
} kin_request_spec;
/** Sets the size, and each member to its default. */
#define KIN_REQUEST_SPEC_INIT                                                  \
  {                                                                            \
    sizeof(kin_request_spec), KIN_VERB_GET, NULL, NULL, NULL, NULL, NULL,      \
        NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, false, false,    \
        NULL, NULL, KIN_PROPAGATION_DEFAULT, false, 0, 0, 0, 0, false, NULL    \
  }

/** Reasons of a Status, by which a program tells one refusal from another
 * (metav1.StatusReason). Without a Status in the answer the HTTP status
 * decides. */
typedef enum kin_reason {
  KIN_REASON_NONE = 0,               /**< no refusal, or an unknown reason */
  KIN_REASON_BAD_REQUEST,            /**< 400 */
  KIN_REASON_UNAUTHORIZED,           /**< 401 */
  KIN_REASON_FORBIDDEN,              /**< 403 */
  KIN_REASON_NOT_FOUND,              /**< 404 */
  KIN_REASON_METHOD_NOT_ALLOWED,     /**< 405 */
  KIN_REASON_NOT_ACCEPTABLE,         /**< 406 */
  KIN_REASON_ALREADY_EXISTS,         /**< 409 */
  KIN_REASON_CONFLICT,               /**< 409 */
  KIN_REASON_GONE,                   /**< 410 */
  KIN_REASON_EXPIRED,                /**< 410 */
  KIN_REASON_REQUEST_TOO_LARGE,      /**< 413 */
  KIN_REASON_UNSUPPORTED_MEDIA_TYPE, /**< 415 */
  KIN_REASON_INVALID,                /**< 422 */
  KIN_REASON_TOO_MANY_REQUESTS,      /**< 429 */
  KIN_REASON_INTERNAL_ERROR,         /**< 500 */
  KIN_REASON_SERVER_TIMEOUT,         /**< 500: to be repeated */
  KIN_REASON_STORAGE_READ_ERROR,     /**< 500: the object cannot be decoded */
  KIN_REASON_SERVICE_UNAVAILABLE,    /**< 503 */
  KIN_REASON_TIMEOUT                 /**< 504 */
} kin_reason;

/** One cause of a refusal: for KIN_REASON_INVALID a field and its fault, for a
 * conflict of an apply a field and its manager. Each may be empty. */
typedef struct kin_cause {
  kin_str field;   /**< "spec.replicas" */
  kin_str reason;  /**< "FieldValueInvalid" */
  kin_str message; /**< for people */
} kin_cause;

/** The result of a request. All strings are valid during the callback, and
 * never NULL. */
typedef struct kin_response {
  size_t size; /**< see KIN_HAS */

  /** 0: the server answered 200 to 206.
   * A refusal, by its reason: KIN_ENOENT (not found: `details_name` tells the
   * object, and is "" if the server does not know the path), KIN_EEXIST
   * (already exists), KIN_ECONFLICT, KIN_EREJECTED (invalid), KIN_EGONE (gone
   * or expired), KIN_ESTATUS (all other reasons, and redirects).
   * No usable answer: KIN_ETIMEDOUT; KIN_ETOOBIG (over max_response_bytes);
   * KIN_ECONTENT (an encoding that is not understood); KIN_EEOF, and the other
   * codes that on_error of an informer gets for a request.
   * No answer: KIN_ECLOSED (the client was closed), or the code that
   * kin_request_cancel was given. Unless the code is that of a refusal, a
   * failed write may have happened all the same. */
  int code;
  kin_error_class error_class; /**< KIN_CLASS_NONE: success, or the program
                                * ended the request */
  int status;          /**< HTTP status, or the code of a Status; 0: none */
  kin_reason reason;   /**< of a refusal */
  const char *message; /**< for people, on one line: request and failure, also
                        * that of an earlier try, if another one; "" on
                        * success */

  /** A refusal's Status: reason as sent, its object, and its causes, of which
   * there are at most 64. */
  const char *reason_text;
  kin_str details_kind;
  kin_str details_name;
  const kin_cause *causes;
  size_t cause_count;

  /** The answer's body as it came, without compression. NUL-terminated. Empty
   * if an error's body has an encoding that is not understood. */
  kin_str body;
  const char *content_type; /**< "" if the answer has none */
  uint32_t retries;         /**< tries after the first */
  int64_t retry_after_s;    /**< of a refusal; -1: the server did not say */
} kin_response;

/** An event callback, called once. When the callback returns, the request is
 * gone. */
typedef void (*kin_request_cb)(const kin_response *response, void *data);

/** Starts a request. `cb` comes exactly once, from a later loop iteration; if
 * the client is closed, before its close callback. `out` may be NULL if there is
 * no need to cancel; `cb` must not be NULL. `data` is passed to cb and to
 * on_error.
 * Errors: KIN_EINVAL (no cb; the verb; names, path, parameters or values; what
 * does not belong to the verb; kin_client_problem says which), KIN_ETOOBIG (the
 * body; a path with its query over 256 KiB), KIN_ENOTSUP (members of a newer
 * version), KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then.
 * Cost: O(length of the body). */
KIN_EXTERN int kin_request_start(kin_request **out, kin_client *client,
                                 const kin_request_spec *spec,
                                 kin_request_cb cb, void *data);

/** Gives up: cb comes from a later loop iteration with `code`, a negative code
 * that says why (UV_ECANCELED, for instance). A write may have happened all the
 * same. Legal in every event callback, but not once cb has returned.
 * Errors: KIN_EINVAL (code), KIN_EALREADY (the request has ended: cb is to come
 * or is being called). */
KIN_EXTERN int kin_request_cancel(kin_request *request, int code);

/** Makes an object of a response's body. `allocator` may be NULL. On success
 * *out has one reference. A list has no name, so it is no object.
 * Errors: the response's own code; KIN_ECONTENT (the answer is not JSON by its
 * content type); KIN_ETRUNCATED (the body is empty); and those of
 * kin_object_parse, which also says how much memory is needed. Cost:
 * O(length). */
KIN_EXTERN int kin_response_object(kin_object **out,
                                   const kin_allocator *allocator,
                                   const kin_response *response);

#ifdef __cplusplus
}
#endif

#endif /* KIN_REQUEST_H */
