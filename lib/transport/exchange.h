/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_EXCHANGE_H
#define KIN_TRANSPORT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/error.h>
#include <kin/str.h>

struct kin__transport;

/* One request and its response. Callbacks come from scheduler steps and timers,
 * never inside kin__exchange_start, _pause or _resume. Each callback may cancel
 * this exchange, start others, or close the transport. */
typedef struct kin__exchange kin__exchange;

/* API servers send 130: a SHA-512. */
#define KIN__ETAG_MAX 160u

/* A response's head, valid during on_head. */
typedef struct kin__response_head {
  int status;
  kin_str content_type;  /* media type with its parameters, "" if absent */
  int64_t retry_after_s; /* Retry-After in whole seconds, at most INT32_MAX; -1
                          * if absent or a date (RR-01) */
  /* on_body gets the body without any coding: there was no Content-Encoding, or
   * one that the exchange undoes. */
  bool is_identity;
  bool is_gzip;     /* the exchange undoes gzip */
  kin_str encoding; /* the last coding that is not identity, "" if none; cut to
                     * 32 bytes, of visible ASCII */
  kin_str location; /* the target of a redirect, "" if absent; cut to 256 bytes
                     * of any value; may hold secrets */
  kin_str etag;     /* quoted, as it came; "" if absent, malformed or over
                     * KIN__ETAG_MAX bytes */
  uint64_t connection; /* the number of the response's connection: unique in its
                        * transport, and among the servers of a client; never
                        * 0 */
  uint32_t server_address; /* changes when the client's server has another
                            * address, and may be another cluster's; 0: never */
} kin__response_head;

/* Why an exchange ended early. */
typedef struct kin__exchange_error {
  int code;                    /* negative */
  kin_error_class error_class; /* dns, connect, tls, auth (no usable token),
                                * protocol or memory; server: a redirect, which
                                * is not followed */
  int status;                  /* of a redirect, else 0 */
  bool had_head;               /* on_head was called */
  char message[384];           /* for people: the failure, with the address */
} kin__exchange_error;

/* Whether an answer that has ended, early or not, tells its status if that is an
 * error's. The head says enough without the body's rest. But a TLS server
 * answers plain HTTP with a 400. `error` is NULL if the response is complete. */
static inline bool kin__exchange_has_status(const kin__exchange_error *error,
                                            int status) {
  return error == NULL ||
         (error->had_head && (error->code != KIN_ETLSSETUP || status != 400));
}

typedef struct kin__exchange_callbacks {
  void (*on_head)(void *ctx, const kin__response_head *head);
  /* Decoded bytes of the body (chunking and gzip undone), borrowed. A gzip body
   * with a status other than 2xx is cut to 256 KiB. */
  void (*on_body)(void *ctx, const char *bytes, size_t length);
  /* Called exactly once, and last, unless the exchange is cancelled. `error` is
   * NULL if the response is complete. The exchange no longer exists then. */
  void (*on_end)(void *ctx, const kin__exchange_error *error);
} kin__exchange_callbacks;

typedef struct kin__request {
  const char *method; /* "PATCH", static; NULL: "GET" */
  const char *target; /* "/api/v1/pods?limit=500", without the url's prefix */
  const char *accept; /* value of the Accept field */
  const char *if_none_match; /* an ETag; 304 is then an answer. NULL: none */
  /* These are borrowed until on_end or the cancel. */
  const char *content_type; /* of the body; NULL: none */
  const char *body;
  size_t body_length; /* 0: no body */
  bool is_watch;      /* a long response: TCP keepalive and user timeout are on,
                       * and there is no timeout between two bytes of the body
                       * of a 200. It may start on an idle connection */
  bool accepts_gzip;  /* set by the exchange */
  uint8_t read_shift; /* one read of the response takes at most
                       * KIN__READ_BYTES >> read_shift; for an owner that needs
                       * long for its bytes */
} kin__request;

/* Starts the exchange; copies everything in `request` but the body, its type
 * and the method. `callbacks` is static. If a reused connection turns out to be
 * closed without a byte of response, the request is sent again on a new
 * connection, once, silently. That is so for GET, HEAD and OPTIONS, which
 * change nothing, and for every method if the socket has taken no byte of the
 * request. PUT and DELETE are not sent again: the server may have carried out
 * the first one, and would then answer the second with a conflict or a 404.
 * Go's HTTP client has the same rules.
 *
 * A failure to connect comes through on_end. Errors: KIN_ENOMEM, KIN_ECLOSED,
 * KIN_EINVAL (a method that is no word of capitals; a target without its first
 * slash or with bytes that must be percent-encoded; control characters in
 * accept, if_none_match or content_type), KIN_ETOOBIG (a head over 1 MiB). */
int kin__exchange_start(struct kin__transport *transport,
                        const kin__request *request,
                        const kin__exchange_callbacks *callbacks, void *ctx,
                        kin__exchange **out);

/* Ends the exchange without a callback. The connection is closed unless the
 * response was complete. The pointer is invalid afterwards. */
void kin__exchange_cancel(kin__exchange *exchange);

/* Stops and continues reading the socket. While paused, no on_body comes and no
 * read timeout runs. An exchange may be paused in its own callbacks: bytes that
 * this step has already read are still delivered, unless they are
 * compressed. */
void kin__exchange_pause(kin__exchange *exchange);
void kin__exchange_resume(kin__exchange *exchange);

/* Ends the exchange with this error, as if the network had failed so. */
void kin__exchange_break(kin__exchange *exchange, int code,
                         kin_error_class error_class, const char *message);

/* Whether its socket has input that the exchange will read. */
bool kin__exchange_has_input(const kin__exchange *exchange);

#endif /* KIN_TRANSPORT_EXCHANGE_H */
