/* SPDX-License-Identifier: MIT */
/* The stream of a tunnel: it speaks with the proxy until the proxy has
 * connected to the server, and then passes bytes through. Bytes behind the
 * proxy's last word are the server's.
 *
 * Of the head that answers CONNECT only the status matters. The head is read
 * byte by byte and not kept; its fields, such as a length, mean nothing in a
 * tunnel (RFC 9110, 9.3.6). */
#include "transport/proxy.h"

#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/link.h"
#include "transport/conn.h"

/* "HTTP/1.1 200" */
#define STATUS_BYTES 12u
/* A SOCKS reply with the longest name. */
#define REPLY_BYTES (5u + 255u + 2u)

typedef enum tunnel_phase {
  TUNNEL_HEAD,    /* reads the answer to CONNECT */
  TUNNEL_METHOD,  /* SOCKS: which login the proxy wants */
  TUNNEL_LOGIN,   /* whether the login is right */
  TUNNEL_REPLY,   /* whether the server is connected, and the address' kind */
  TUNNEL_ADDRESS, /* the rest of the reply */
  TUNNEL_OPEN
} tunnel_phase;

typedef struct tunnel {
  kin__stream base;
  const kin__proxy *proxy;
  const kin_allocator *allocator;
  tunnel_phase phase;
  unsigned char kept[REPLY_BYTES]; /* the answer's first bytes */
  size_t kept_length;
  size_t needed;       /* SOCKS: bytes of the message in hand */
  size_t head_bytes;   /* of all heads so far */
  unsigned line_bytes; /* of the head's last line so far, without '\r' */
} tunnel;

static tunnel *tunnel_of(kin__stream *base) {
  return KIN__CONTAINER_OF(base, tunnel, base);
}

/* --- Failing -------------------------------------------------------------- */

static int tunnel_fail(tunnel *t, int code, kin_error_class error_class,
                       const char *reason) {
  return kin__conn_set_error(t->base.conn, code, error_class, reason);
}

static int tunnel_malformed(tunnel *t) {
  return tunnel_fail(t, KIN_EHTTP, KIN_CLASS_PROTOCOL,
                     t->proxy->is_socks
                         ? "the answer is not that of a SOCKS5 proxy"
                         : "the answer is not that of an http proxy");
}

/* `refusal` is an http status or a code of SOCKS. */
static int tunnel_refused(tunnel *t, kin_error_class error_class,
                          const char *what, int refusal, const char *why) {
  char reason[160];
  snprintf(reason, sizeof reason, "the proxy answers %s%d: %s", what, refusal,
           why);
  return tunnel_fail(t, KIN_EPROXY, error_class, reason);
}

/* --- CONNECT -------------------------------------------------------------- */

/* The status of the head in hand, or 0 if it is malformed. */
static int head_status(const tunnel *t) {
  const unsigned char *line = t->kept;
  if (t->kept_length < STATUS_BYTES || memcmp(line, "HTTP/1.", 7) != 0 ||
      line[7] < '0' || line[7] > '9' || line[8] != ' ') {
    return 0;
  }
  int status = 0;
  for (size_t i = 9; i < STATUS_BYTES; i++) {
    if (line[i] < '0' || line[i] > '9') {
      return 0;
    }
    status = status * 10 + (line[i] - '0');
  }
  return status;
}

static int end_of_head(tunnel *t) {
  int status = head_status(t);
  if (status < 100 || status == 101) {
    return tunnel_malformed(t);
  }
  t->kept_length = 0;
  if (status < 200) {
    return 0; /* the real head follows */
  }
  if (status > 299) {
    return tunnel_refused(t, status == 407 ? KIN_CLASS_AUTH : KIN_CLASS_CONNECT,
                          "", status, kin__proxy_refusal(t->proxy, status));
  }
  t->phase = TUNNEL_OPEN;
  return 0;
}

/* Takes bytes up to the end of a head. Returns an error or 0. */
static int read_head(tunnel *t, const char *bytes, size_t length,
                     size_t *taken) {
  while (*taken < length && t->phase == TUNNEL_HEAD) {
    char c = bytes[(*taken)++];
    if (++t->head_bytes > KIN__PROXY_MAX_HEAD_BYTES) {
      return tunnel_fail(t, KIN_EHTTP, KIN_CLASS_PROTOCOL,
                         "the proxy's answer has a head over 64 KiB");
    }
    if (c == '\n') {
      /* A first line that is too short for a status ends the head, too. */
      bool is_end = t->line_bytes == 0 || t->kept_length < STATUS_BYTES;
      int err = is_end ? end_of_head(t) : 0;
      t->line_bytes = 0;
      if (err != 0) {
        return err;
      }
      continue;
    }
    if (t->kept_length < STATUS_BYTES) {
      t->kept[t->kept_length++] = (unsigned char)c;
      if (memcmp(t->kept, "HTTP/1.", t->kept_length < 7 ? t->kept_length : 7) !=
          0) {
        return tunnel_malformed(t);
      }
    }
    t->line_bytes += c != '\r';
  }
  return 0;
}

/* --- SOCKS5, RFC 1928 and 1929 -------------------------------------------- */

static const char *socks_text(unsigned code) {
  static const char *const texts[] = {
      "",
      "a failure of its own",
      "its rules forbid the connection",
      "the network is unreachable",
      "the host is unreachable",
      "the server refuses the connection",
      "the packets' time to live is over",
      "it does not know the command",
      "it does not know the kind of address",
  };
  return code < sizeof texts / sizeof texts[0] ? texts[code]
                                               : "an unknown code";
}

static int socks_say(tunnel *t, const kin__buf *message, tunnel_phase next,
                     size_t needed) {
  t->phase = next;
  t->needed = needed;
  t->kept_length = 0;
  return kin__stream_write(&t->base, message->data, message->length);
}

static int on_socks_method(tunnel *t) {
  const unsigned char *answer = t->kept;
  if (answer[0] != 5) {
    return tunnel_malformed(t);
  }
  if (answer[1] == 0) {
    return socks_say(t, &t->proxy->address, TUNNEL_REPLY, 4);
  }
  if (answer[1] == 2 && t->proxy->has_login) {
    return socks_say(t, &t->proxy->login, TUNNEL_LOGIN, 2);
  }
  return tunnel_fail(t, KIN_EPROXY, KIN_CLASS_AUTH,
                     t->proxy->has_login
                         ? "the proxy takes no user name and password"
                         : kin__proxy_refusal(t->proxy, 407));
}

static int on_socks_login(tunnel *t) {
  if (t->kept[0] != 1) {
    return tunnel_malformed(t);
  }
  if (t->kept[1] != 0) {
    return tunnel_fail(t, KIN_EPROXY, KIN_CLASS_AUTH,
                       kin__proxy_refusal(t->proxy, 407));
  }
  return socks_say(t, &t->proxy->address, TUNNEL_REPLY, 4);
}

/* The address in a reply is of no use, but must be read. */
static int on_socks_reply(tunnel *t) {
  const unsigned char *reply = t->kept;
  if (reply[0] != 5) {
    return tunnel_malformed(t);
  }
  if (reply[1] != 0) {
    return tunnel_refused(t, KIN_CLASS_CONNECT, "code ", reply[1],
                          socks_text(reply[1]));
  }
  t->phase = TUNNEL_ADDRESS;
  switch (reply[3]) {
  case 1:
    t->needed = 4 + 4 + 2;
    return 0;
  case 4:
    t->needed = 4 + 16 + 2;
    return 0;
  case 3:
    t->needed = 5; /* the name's length */
    return 0;
  default:
    return tunnel_malformed(t);
  }
}

static int on_socks_address(tunnel *t) {
  if (t->kept[3] == 3 && t->needed == 5) {
    t->needed = 5u + t->kept[4] + 2u;
    return 0;
  }
  t->phase = TUNNEL_OPEN;
  return 0;
}

static int on_socks_message(tunnel *t) {
  switch (t->phase) {
  case TUNNEL_METHOD:
    return on_socks_method(t);
  case TUNNEL_LOGIN:
    return on_socks_login(t);
  case TUNNEL_REPLY:
    return on_socks_reply(t);
  default:
    return on_socks_address(t);
  }
}

/* Takes bytes up to the end of the reply. Returns an error or 0. */
static int read_socks(tunnel *t, const char *bytes, size_t length,
                      size_t *taken) {
  int err = 0;
  while (*taken < length && t->phase != TUNNEL_OPEN && err == 0) {
    t->kept[t->kept_length++] = (unsigned char)bytes[(*taken)++];
    if (t->kept_length == t->needed) {
      err = on_socks_message(t);
    }
  }
  return err;
}

/* --- The stream ----------------------------------------------------------- */

static int tunnel_open(kin__stream *base) {
  tunnel *t = tunnel_of(base);
  t->needed = 2;
  t->phase = t->proxy->is_socks ? TUNNEL_METHOD : TUNNEL_HEAD;
  const kin__buf *greeting = &t->proxy->greeting;
  return kin__stream_write(base, greeting->data, greeting->length);
}

static int tunnel_receive(kin__stream *base, char *bytes, size_t length) {
  tunnel *t = tunnel_of(base);
  size_t taken = 0;
  if (!base->is_ready) {
    int err = t->proxy->is_socks ? read_socks(t, bytes, length, &taken)
                                 : read_head(t, bytes, length, &taken);
    if (err == 0 && t->phase == TUNNEL_OPEN) {
      err = kin__stream_become_ready(base);
    }
    if (err != 0 || !base->is_ready || base->conn->is_closed) {
      return err;
    }
  }
  return taken < length
             ? kin__stream_deliver(base, bytes + taken, length - taken)
             : 0;
}

static int tunnel_end(kin__stream *base) {
  tunnel *t = tunnel_of(base);
  if (base->is_ready) {
    int err = kin__stream_end_above(base);
    return err == KIN__STREAM_ENDED ? 0 : err;
  }
  return tunnel_fail(t, KIN_EEOF, KIN_CLASS_CONNECT,
                     t->head_bytes + t->kept_length == 0
                         ? "the proxy closed the connection before it answered"
                         : "the proxy closed the connection in the middle of "
                           "its answer");
}

static int tunnel_send(kin__stream *base, const char *bytes, size_t length) {
  return kin__stream_write(base, bytes, length);
}

static void tunnel_close(kin__stream *base) {
  (void)base;
}

static void tunnel_free(kin__stream *base) {
  tunnel *t = tunnel_of(base);
  kin__free(t->allocator, t);
}

static const kin__stream_ops tunnel_ops = {
    .open = tunnel_open,
    .receive = tunnel_receive,
    .end = tunnel_end,
    .send = tunnel_send,
    .close = tunnel_close,
    .free = tunnel_free,
    .missing = "no answer of the proxy",
};

int kin__tunnel_new(kin__stream **out, const kin__proxy *proxy,
                    const kin_allocator *allocator) {
  tunnel *t = kin__calloc(allocator, 1, sizeof *t);
  *out = t != NULL ? &t->base : NULL;
  if (t == NULL) {
    return KIN_ENOMEM;
  }
  t->base.ops = &tunnel_ops;
  t->proxy = proxy;
  t->allocator = allocator;
  return 0;
}
