/* SPDX-License-Identifier: MIT */
#ifndef APISIM_STATUS_H
#define APISIM_STATUS_H

/* metav1.Status bodies, worded as the real API server words them. */

#include "buf.h"
#include "registry.h"

struct conn;

/* Appends a Status object (no newline). reason may be NULL; details is JSON
 * text or NULL. */
void status_put(buf *out, int code, const char *reason, const char *message,
                const char *details);
/* Answers with it. */
void status_send(struct conn *c, int code, const char *reason,
                 const char *message, const char *details);

void status_bad_request(struct conn *c, const char *message);
/* Takes error as the message and frees it. */
void status_bad_request_take(struct conn *c, buf *error);
void status_not_found(struct conn *c, const resource *res, const char *name);
void status_exists(struct conn *c, const resource *res, const char *name);
/* detail NULL = the object has been modified. */
void status_conflict(struct conn *c, const resource *res, const char *name,
                     const char *detail);
/* A precondition of a deletion does not hold. */
void status_precondition(struct conn *c, const resource *res, const char *name,
                         const char *detail);
void status_forbidden(struct conn *c, const resource *res, const char *ns,
                      const char *name, const char *verb);
void status_unauthorized(struct conn *c);
void status_method_not_allowed(struct conn *c);
/* message NULL = nothing the Accept header names is there. */
void status_not_acceptable(struct conn *c, const char *message);
void status_unsupported_patch(struct conn *c);
void status_unsupported_media(struct conn *c, const char *accepted);
/* One bad field: reason FieldValue..., its message, its path. */
typedef struct field_error {
  const char *reason;
  const char *message;
  const char *field;
} field_error;
/* 422; group and kind of the object. */
void status_invalid(struct conn *c, const char *group, const char *kind,
                    const char *name, const field_error *errors, size_t count);
/* 504 for a resourceVersion the server has not reached. */
void status_put_too_large(buf *out, uint64_t asked, uint64_t current);
void status_version_too_large(struct conn *c, uint64_t asked, uint64_t current);
/* A resourceVersion that is no number: 400 to a list, 500 to a watch and to a
 * read of one object. */
void status_invalid_version(struct conn *c, int code, const char *text);
/* 404 for a resource that a built-in group and version does not have. */
void status_unknown_resource(struct conn *c);
/* 404 with the plain text of an unknown path. */
void status_unknown_path(struct conn *c);

#endif
