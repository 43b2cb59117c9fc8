/* SPDX-License-Identifier: MIT */
/* A dial is a small state machine. Callbacks of libuv and the timer only change
 * the state or schedule the task. The step does the rest, so the dial's
 * callback is never called inside kin__dial_start.
 *
 *   RESOLVING -> TRYING -> CONNECTING -> ENDED
 *                   ^          |
 *                   +- LEAVING +          an attempt failed, its poll handle
 *                                         is closing, and addresses are left
 *
 * The memory stays until neither the resolver nor the poll handle can call
 * back: a look-up that is running in libuv's pool cannot be stopped. */
#include "transport/dial.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/link.h"

typedef enum dial_state {
  DIAL_RESOLVING,  /* waits for the resolver or the scheduled task */
  DIAL_TRYING,     /* the task is scheduled */
  DIAL_CONNECTING, /* fd and poll are open, the timer is active */
  DIAL_LEAVING,    /* poll is closing */
  DIAL_ENDED       /* called back or cancelled */
} dial_state;

struct kin__dial {
  kin__net *net;
  kin__link node; /* in net->dials until ENDED */
  kin__task task;
  kin__timer timer;
  dial_state state;

  const char *host; /* NULL if the addresses were given */
  uint16_t port;
  uv_getaddrinfo_t resolver;
  bool is_resolving; /* the resolver's callback is still to come */
  int resolver_status;

  kin__address addresses[KIN__DIAL_MAX_ADDRESSES];
  size_t address_count;
  size_t next_address;

  uv_poll_t poll;
  bool is_polling; /* initialized, not yet released */
  bool is_leaving; /* closed, not yet released */
  kin__release poll_gone;
  int fd; /* >= 0 while CONNECTING */

  uint32_t timeout_ms;
  kin__dial_cb cb;
  void *ctx;
  kin__dial_result result;
};

static void free_if_idle(kin__dial *dial) {
  if (dial->state == DIAL_ENDED && !dial->is_resolving && !dial->is_polling) {
    kin__net *net = dial->net;
    kin__free(net->allocator, dial);
    kin__net_release(net);
  }
}

static void on_poll_gone(kin__release *release) {
  kin__dial *dial = KIN__CONTAINER_OF(release, kin__dial, poll_gone);
  dial->is_polling = dial->is_leaving = false;
  if (dial->state == DIAL_LEAVING) {
    dial->state = DIAL_TRYING;
    kin__sched_add(dial->net->sched, &dial->task);
  }
  free_if_idle(dial);
}

/* Stops all work in progress. fd is closed unless it was taken. */
static void stop(kin__dial *dial) {
  kin__timer_stop(dial->net->timers, &dial->timer);
  kin__sched_cancel(dial->net->sched, &dial->task);
  if (dial->is_polling && !dial->is_leaving) {
    dial->is_leaving = true;
    kin__handle_close((uv_handle_t *)&dial->poll);
    kin__releases_add(&dial->net->releases, &dial->poll_gone, on_poll_gone);
  }
  if (dial->fd >= 0) {
    kin__socket_close(dial->fd);
    dial->fd = -1;
  }
}

/* Stops for good. Does not free the dial. */
static void end(kin__dial *dial) {
  stop(dial);
  kin__link_remove(&dial->node);
  if (dial->is_resolving) {
    /* Fails if the look-up is running; the callback comes in both cases. */
    (void)uv_cancel((uv_req_t *)&dial->resolver);
  }
  dial->state = DIAL_ENDED;
}

static void finish(kin__dial *dial) {
  end(dial);
  dial->cb(dial->ctx, &dial->result);
  free_if_idle(dial);
}

static void append_message(kin__dial *dial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_message(kin__dial *dial, const char *format, ...) {
  char *message = dial->result.message;
  size_t used = strlen(message);
  va_list args;
  va_start(args, format);
  vsnprintf(message + used, sizeof dial->result.message - used, format, args);
  va_end(args);
}

/* A host without IPv6, for example, fails at once for such an address. This
 * must not hide the network's errors for the other addresses. */
static bool is_local(int code) {
  return code == UV_ENETUNREACH || code == UV_EADDRNOTAVAIL ||
         code == UV_EAFNOSUPPORT;
}

/* Notes why the current address failed. */
static void note_failure(kin__dial *dial, int code) {
  kin__dial_result *result = &dial->result;
  char peer[KIN__ADDRESS_TEXT_SIZE];
  kin__address_format(&dial->addresses[dial->next_address - 1], peer,
                      sizeof peer);
  append_message(
      dial, "%s%s: ", result->message[0] == '\0' ? "connect to " : "; ", peer);
  if (code == KIN_ETIMEDOUT) {
    append_message(dial, "no answer within %lu ms",
                   (unsigned long)dial->timeout_ms);
  } else {
    append_message(dial, "%s", kin_strerror(code));
  }
  result->error_class = KIN_CLASS_CONNECT;
  if (result->code == 0 || !is_local(code)) {
    result->code = code;
  }
}

/* Continues with the next address, or ends if there is none. */
static void leave_address(kin__dial *dial, int code) {
  note_failure(dial, code);
  if (dial->next_address == dial->address_count) {
    finish(dial);
    return;
  }
  dial->state = DIAL_LEAVING;
  stop(dial);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  (void)status; /* SO_ERROR tells more */
  (void)events;
  kin__dial *dial = KIN__CONTAINER_OF(poll, kin__dial, poll);
  uv_poll_stop(poll);
  kin__sched_add(dial->net->sched, &dial->task);
}

/* Opens a socket and begins to connect. On failure the caller closes fd. */
static int connect_to(kin__dial *dial, const kin__address *address) {
  if (kin__net_is_cut_off(dial->net)) {
    return UV_ECANCELED;
  }
  int fd = kin__socket_open(address->any.sa_family);
  if (fd < 0) {
    return fd;
  }
  dial->fd = fd;
  int err = kin__socket_connect(fd, address);
  if (err == 0) {
    err = uv_poll_init(dial->net->loop, &dial->poll, fd);
  }
  return err;
}

static void try_addresses(kin__dial *dial) {
  while (dial->next_address < dial->address_count) {
    int err = connect_to(dial, &dial->addresses[dial->next_address++]);
    if (err == 0) {
      dial->is_polling = true;
      dial->state = DIAL_CONNECTING;
      kin__net_apply_ref(dial->net, (uv_handle_t *)&dial->poll);
      err = uv_poll_start(&dial->poll, UV_WRITABLE, on_poll);
      assert(err == 0);
      kin__timer_start(dial->net->timers, &dial->timer,
                       kin__net_now_ms(dial->net) + dial->timeout_ms);
      return;
    }
    stop(dial);
    note_failure(dial, err);
  }
  finish(dial);
}

/* A forked child does not read the socket's error: reading clears it, and the
 * parent would miss it. */
static void check_connected(kin__dial *dial) {
  int err = kin__net_is_cut_off(dial->net) ? UV_ECANCELED
                                           : kin__socket_connected(dial->fd);
  if (err != 0) {
    leave_address(dial, err);
    return;
  }
  kin__dial_result *result = &dial->result;
  *result = (kin__dial_result){.fd = dial->fd};
  kin__address_format(&dial->addresses[dial->next_address - 1], result->peer,
                      sizeof result->peer);
  dial->fd = -1;
  finish(dial);
}

static void fail_resolve(kin__dial *dial, int code, kin_error_class error_class,
                         const char *why) {
  dial->result.code = code;
  dial->result.error_class = error_class;
  append_message(dial, "resolve %s: %s", dial->host, why);
  finish(dial);
}

static void check_resolved(kin__dial *dial) {
  int status = dial->resolver_status;
  if (status == UV_EAI_MEMORY || status == UV_ENOMEM) {
    fail_resolve(dial, KIN_ENOMEM, KIN_CLASS_MEMORY, kin_strerror(KIN_ENOMEM));
  } else if (status != 0) {
    fail_resolve(dial, KIN_ERESOLVE, KIN_CLASS_DNS, kin_strerror(status));
  } else if (dial->address_count == 0) {
    fail_resolve(dial, KIN_ERESOLVE, KIN_CLASS_DNS, "no address");
  } else {
    dial->state = DIAL_TRYING;
    try_addresses(dial);
  }
}

static bool step(kin__task *task) {
  kin__dial *dial = KIN__CONTAINER_OF(task, kin__dial, task);
  if (dial->state == DIAL_RESOLVING) {
    check_resolved(dial);
  } else if (dial->state == DIAL_TRYING) {
    try_addresses(dial);
  } else {
    assert(dial->state == DIAL_CONNECTING);
    check_connected(dial);
  }
  return false;
}

static void on_timer(kin__timer *timer) {
  kin__dial *dial = KIN__CONTAINER_OF(timer, kin__dial, timer);
  if (dial->state == DIAL_RESOLVING) {
    char why[64];
    snprintf(why, sizeof why, "no answer within %lu ms",
             (unsigned long)dial->timeout_ms);
    fail_resolve(dial, KIN_ETIMEDOUT, KIN_CLASS_DNS, why);
  } else {
    assert(dial->state == DIAL_CONNECTING);
    if (kin__socket_is_writable(dial->fd)) {
      check_connected(dial); /* the loop was late, not the network */
    } else {
      leave_address(dial, KIN_ETIMEDOUT);
    }
  }
}

static void keep_address(kin__dial *dial, const struct sockaddr *address) {
  kin__address *kept = &dial->addresses[dial->address_count];
  if (address->sa_family == AF_INET) {
    memcpy(&kept->ip4, address, sizeof kept->ip4);
    kept->ip4.sin_port = htons(dial->port);
  } else if (address->sa_family == AF_INET6) {
    memcpy(&kept->ip6, address, sizeof kept->ip6);
    kept->ip6.sin6_port = htons(dial->port);
  } else {
    return;
  }
  dial->address_count++;
}

static void on_resolved(uv_getaddrinfo_t *resolver, int status,
                        struct addrinfo *first) {
  kin__dial *dial = KIN__CONTAINER_OF(resolver, kin__dial, resolver);
  dial->is_resolving = false;
  if (dial->state == DIAL_RESOLVING) {
    dial->resolver_status = status;
    kin__timer_stop(dial->net->timers, &dial->timer);
    for (struct addrinfo *info = first;
         info != NULL && dial->address_count < KIN__DIAL_MAX_ADDRESSES;
         info = info->ai_next) {
      keep_address(dial, info->ai_addr);
    }
    kin__sched_add(dial->net->sched, &dial->task);
  }
  uv_freeaddrinfo(first);
  free_if_idle(dial);
}

static kin__dial *new_dial(kin__net *net, uint32_t timeout_ms, kin__dial_cb cb,
                           void *ctx) {
  kin__dial *dial = kin__calloc(net->allocator, 1, sizeof *dial);
  if (dial == NULL) {
    return NULL;
  }
  dial->net = net;
  dial->fd = -1;
  dial->timeout_ms = timeout_ms;
  dial->cb = cb;
  dial->ctx = ctx;
  dial->result.fd = -1;
  kin__task_init(&dial->task, step);
  kin__timer_init(&dial->timer, on_timer);
  kin__link_push(&net->dials, &dial->node);
  kin__net_hold(net);
  return dial;
}

int kin__dial_start_at(kin__dial **out, kin__net *net,
                       const kin__address *addresses, size_t count,
                       uint32_t timeout_ms, kin__dial_cb cb, void *ctx) {
  assert(count > 0);
  *out = NULL;
  kin__dial *dial = new_dial(net, timeout_ms, cb, ctx);
  if (dial == NULL) {
    return KIN_ENOMEM;
  }
  if (count > KIN__DIAL_MAX_ADDRESSES) {
    count = KIN__DIAL_MAX_ADDRESSES;
  }
  memcpy(dial->addresses, addresses, count * sizeof *addresses);
  dial->address_count = count;
  dial->state = DIAL_TRYING;
  kin__sched_add(net->sched, &dial->task);
  *out = dial;
  return 0;
}

static void start_resolver(kin__dial *dial) {
  /* Without AI_ADDRCONFIG, which hides loopback on a host without a network. */
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
  int err = kin__net_is_cut_off(dial->net)
                ? UV_ECANCELED
                : uv_getaddrinfo(dial->net->loop, &dial->resolver, on_resolved,
                                 dial->host, NULL, &hints);
  dial->state = DIAL_RESOLVING;
  if (err == 0) {
    dial->is_resolving = true;
    kin__timer_start(dial->net->timers, &dial->timer,
                     kin__net_now_ms(dial->net) + dial->timeout_ms);
  } else {
    dial->resolver_status = err;
    kin__sched_add(dial->net->sched, &dial->task);
  }
}

int kin__dial_start(kin__dial **out, kin__net *net, const char *host,
                    uint16_t port, uint32_t timeout_ms, kin__dial_cb cb,
                    void *ctx) {
  kin__address address;
  if (host[0] == '/') {
    memset(&address, 0, sizeof address);
    address.local.sun_family = AF_UNIX;
    snprintf(address.local.sun_path, sizeof address.local.sun_path, "%s", host);
    return kin__dial_start_at(out, net, &address, 1, timeout_ms, cb, ctx);
  }
  if (uv_ip4_addr(host, port, &address.ip4) == 0 ||
      uv_ip6_addr(host, port, &address.ip6) == 0) {
    return kin__dial_start_at(out, net, &address, 1, timeout_ms, cb, ctx);
  }
  *out = NULL;
  kin__dial *dial = new_dial(net, timeout_ms, cb, ctx);
  if (dial == NULL) {
    return KIN_ENOMEM;
  }
  dial->host = host;
  dial->port = port;
  start_resolver(dial);
  *out = dial;
  return 0;
}

void kin__dial_cancel(kin__dial *dial) {
  assert(dial->state != DIAL_ENDED);
  end(dial);
  free_if_idle(dial);
}

void kin__dial_update_refs(kin__net *net) {
  for (kin__link *node = net->dials.next; node != &net->dials;
       node = node->next) {
    kin__dial *dial = KIN__CONTAINER_OF(node, kin__dial, node);
    if (dial->is_polling) {
      kin__net_apply_ref(net, (uv_handle_t *)&dial->poll);
    }
  }
}
