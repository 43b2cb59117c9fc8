/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_EXCHANGE_H
#define KIN_TRANSPORT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/error.h>
#include <kin/str.h>

struct kin__transport;

/* One GET and its response. Callbacks come from scheduler steps and timers,
 * never inside kin__exchange_start, _pause or _resume; each may cancel this
 * exchange, start others, or close the transport. */
typedef struct kin__exchange kin__exchange;

/* A response's head, valid during on_head. */
typedef struct kin__response_head {
  int status;
  kin_str content_type;  /* media type with its parameters, "" if absent */
  int64_t retry_after_s; /* Retry-After in whole seconds, at most INT32_MAX; -1
                          * if absent or a date (RR-01) */
  /* on_body gets what the server meant: the body has no Content-Encoding, or
   * one that the exchange undoes. */
  bool is_identity;
  bool is_gzip;     /* it has that one */
  kin_str encoding; /* the last that is not identity, "" if there is none; cut
                     * to 32 bytes, of visible ASCII */
  kin_str location; /* where a redirect leads, "" if absent; cut to 256 bytes of
                     * any kind; may hold secrets */
  uint64_t connection; /* the response's; its transport has no other with this
                        * number, which is never 0 */
} kin__response_head;

/* Why an exchange ended early. */
typedef struct kin__exchange_error {
  int code;                    /* negative */
  kin_error_class error_class; /* dns, connect, tls, auth (no usable token),
                                * protocol or memory; server: a redirect,
                                * which is not followed */
  int status;                  /* the redirect's, else 0 */
  bool had_head;               /* on_head was called */
  char message[384];           /* for people: what failed, with the address */
} kin__exchange_error;

typedef struct kin__exchange_callbacks {
  void (*on_head)(void *ctx, const kin__response_head *head);
  /* Decoded bytes of the body (chunking and gzip undone); borrowed. Of a gzip
   * body that comes with another status than 200 at most 256 KiB. */
  void (*on_body)(void *ctx, const char *bytes, size_t length);
  /* Exactly once, and last, unless the exchange is cancelled: error NULL if the
   * response is complete. The exchange is gone when this is called. */
  void (*on_end)(void *ctx, const kin__exchange_error *error);
} kin__exchange_callbacks;

typedef struct kin__request {
  const char *target; /* "/api/v1/pods?limit=500", without the url's prefix */
  const char *accept; /* value of the Accept field */
  bool is_watch;      /* has its connection for long: TCP keepalive and user
                       * timeout armed, no timeout between two reads of the body
                       * of a 200. It may begin on an idle connection */
  bool accepts_gzip;  /* set by the exchange */
} kin__request;

/* Starts; everything in `request` is copied. A request on a reused connection
 * that the server has closed meanwhile, without a byte of response, is sent
 * again on a fresh one, once, silently. Errors: KIN_ENOMEM, KIN_ECLOSED,
 * KIN_EINVAL (a target without its first slash or with bytes that must be
 * percent-encoded, control characters in accept), KIN_ETOOBIG (over 1 MiB);
 * failure to connect comes through on_end. */
int kin__exchange_start(struct kin__transport *transport,
                        const kin__request *request,
                        const kin__exchange_callbacks *callbacks, void *ctx,
                        kin__exchange **out);

/* Ends it without a callback; the connection is closed unless the response was
 * complete. The pointer is dead. */
void kin__exchange_cancel(kin__exchange *exchange);

/* Stops and continues reading the socket. While paused, no on_body comes and no
 * read timeout runs. An exchange may be paused in its own callbacks: the bytes
 * already read in this step are still delivered, unless they are compressed. */
void kin__exchange_pause(kin__exchange *exchange);
void kin__exchange_resume(kin__exchange *exchange);

/* Ends it with this error, as if the network had said so. */
void kin__exchange_break(kin__exchange *exchange, int code,
                         kin_error_class error_class, const char *message);

/* Whether its socket has something to read that it will read. */
bool kin__exchange_has_input(const kin__exchange *exchange);

#endif /* KIN_TRANSPORT_EXCHANGE_H */
