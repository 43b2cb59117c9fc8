/* SPDX-License-Identifier: MIT */
/* A dial is a small state machine. Callbacks of libuv and the timer only change
 * the state or schedule the task. The step does the rest, so the dial's
 * callback is never called inside kin__dial_start.
 *
 *   RESOLVING -> CONNECTING -> ENDED
 *
 * Attempts to connect overlap, as RFC 8305 says (Happy Eyeballs). Each begins
 * when the one before has failed, or is ATTEMPT_DELAY_MS old. The first that
 * connects closes the others.
 *
 * The memory stays until neither the resolver nor a poll handle can call back:
 * a look-up that is running in libuv's pool cannot be stopped. */
#include "transport/dial.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/link.h"
#include "transport/dial_order.h"

/* RFC 8305, section 8: the recommended Connection Attempt Delay. */
#define ATTEMPT_DELAY_MS 250u

typedef enum dial_state {
  DIAL_RESOLVING,  /* waits for the resolver or the scheduled task */
  DIAL_CONNECTING, /* the task is scheduled, or the timer is active */
  DIAL_ENDED       /* called back or cancelled */
} dial_state;

/* To connect to one address. */
typedef struct attempt {
  kin__dial *dial;
  uv_poll_t poll; /* open iff fd is */
  kin__release poll_gone;
  bool is_woken;   /* the poll has told that there is a result */
  int fd;          /* >= 0 while connecting */
  int code;        /* why it failed */
  uint64_t due_ms; /* when it fails */
} attempt;

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
  bool is_withdrawn; /* no thread has begun the look-up, and none will */
  int resolver_status;

  kin__address addresses[KIN__DIAL_MAX_ADDRESSES];
  size_t address_count;
  attempt attempts[KIN__DIAL_MAX_ADDRESSES]; /* one an address */
  size_t begun;                              /* attempts, failed ones too */
  size_t polls;     /* handles initialized, not yet released */
  uint64_t next_ms; /* when the next attempt begins at the latest */

  uint32_t timeout_ms;
  kin__dial_cb cb;
  void *ctx;
  kin__dial_result result;
};

static void free_if_idle(kin__dial *dial) {
  if (dial->state == DIAL_ENDED && !dial->is_resolving && dial->polls == 0) {
    kin__net *net = dial->net;
    kin__free(net->allocator, dial);
    kin__net_release(net);
  }
}

static void on_poll_gone(kin__release *release) {
  kin__dial *dial = KIN__CONTAINER_OF(release, attempt, poll_gone)->dial;
  dial->polls--;
  free_if_idle(dial);
}

/* Closes the attempt's handle, and returns its socket. */
static int stop_attempt(attempt *a) {
  kin__net *net = a->dial->net;
  int fd = a->fd;
  kin__handle_close((uv_handle_t *)&a->poll);
  kin__releases_add(&net->releases, &a->poll_gone, on_poll_gone);
  a->fd = -1;
  return fd;
}

static void fail_attempt(attempt *a, int code) {
  kin__socket_close(stop_attempt(a));
  a->code = code;
}

/* Whether the look-up is queued or running. */
static bool is_running(const kin__dial *dial) {
  return dial->is_resolving && !dial->is_withdrawn;
}

static void cancel_look_up(kin__dial *dial) {
  if (is_running(dial)) {
    /* Fails if the look-up is running; the callback comes in both cases. */
    dial->is_withdrawn = uv_cancel((uv_req_t *)&dial->resolver) == 0;
  }
}

bool kin__dial_withdraw(kin__dial *dial) {
  if (dial->net->hanging == 0) {
    cancel_look_up(dial);
  }
  return dial->is_withdrawn;
}

bool kin__dial_is_looking_up(const kin__dial *dial) {
  return dial->state == DIAL_RESOLVING;
}

/* Stops for good. Does not free the dial. */
static void end(kin__dial *dial) {
  kin__timer_stop(dial->net->timers, &dial->timer);
  kin__sched_cancel(dial->net->sched, &dial->task);
  for (size_t i = 0; i < dial->begun; i++) {
    if (dial->attempts[i].fd >= 0) {
      fail_attempt(&dial->attempts[i], UV_ECANCELED);
    }
  }
  kin__link_remove(&dial->node);
  cancel_look_up(dial);
  dial->net->hanging += is_running(dial);
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

/* Notes why an address failed. */
static void note_failure(kin__dial *dial, size_t index) {
  kin__dial_result *result = &dial->result;
  int code = dial->attempts[index].code;
  char peer[KIN__ADDRESS_TEXT_SIZE];
  kin__address_format(&dial->addresses[index], peer, sizeof peer);
  append_message(dial, "%s%s: ", index == 0 ? "connect to " : "; ", peer);
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

static void on_poll(uv_poll_t *poll, int status, int events) {
  (void)status; /* SO_ERROR tells more */
  (void)events;
  attempt *a = KIN__CONTAINER_OF(poll, attempt, poll);
  uv_poll_stop(poll);
  a->is_woken = true;
  kin__sched_add(a->dial->net->sched, &a->dial->task);
}

/* Opens a socket, begins to connect, and waits for the result. */
static int open_attempt(attempt *a, const kin__address *address) {
  kin__net *net = a->dial->net;
  if (kin__net_is_cut_off(net)) {
    return UV_ECANCELED;
  }
  int fd = kin__socket_open(address->any.sa_family);
  if (fd < 0) {
    return fd;
  }
  int err = kin__socket_connect(fd, address);
  if (err == 0) {
    err = uv_poll_init(net->loop, &a->poll, fd);
  }
  if (err != 0) {
    kin__socket_close(fd);
    return err;
  }
  a->fd = fd;
  a->dial->polls++;
  kin__net_apply_ref(net, (uv_handle_t *)&a->poll);
  err = uv_poll_start(&a->poll, UV_WRITABLE, on_poll);
  assert(err == 0);
  return err;
}

static void begin_attempt(kin__dial *dial, uint64_t now_ms) {
  attempt *a = &dial->attempts[dial->begun];
  *a = (attempt){.dial = dial, .fd = -1, .due_ms = now_ms + dial->timeout_ms};
  a->code = open_attempt(a, &dial->addresses[dial->begun]);
  dial->begun++;
  dial->next_ms = now_ms + ATTEMPT_DELAY_MS;
}

/* Returns 0 if it is connected, UV_EAGAIN if that is not known yet. The socket
 * is asked before the clock: the loop may be late, not the network. A forked
 * child does not read the socket's error: reading clears it, and the parent
 * would miss it. */
static int attempt_result(const attempt *a, uint64_t now_ms) {
  if (kin__net_is_cut_off(a->dial->net)) {
    return UV_ECANCELED;
  }
  if (a->is_woken || kin__socket_is_writable(a->fd)) {
    return kin__socket_connected(a->fd);
  }
  return now_ms < a->due_ms ? UV_EAGAIN : KIN_ETIMEDOUT;
}

/* Ends attempts whose result is known. Returns the one that is connected, or
 * NULL. */
static attempt *check_attempts(kin__dial *dial, uint64_t now_ms) {
  for (size_t i = 0; i < dial->begun; i++) {
    attempt *a = &dial->attempts[i];
    int err = a->fd >= 0 ? attempt_result(a, now_ms) : UV_EAGAIN;
    if (err == 0) {
      return a;
    }
    if (err != UV_EAGAIN) {
      fail_attempt(a, err);
    }
  }
  return NULL;
}

static void finish_connected(kin__dial *dial, attempt *winner) {
  kin__dial_result *result = &dial->result;
  result->fd = stop_attempt(winner);
  kin__address_format(&dial->addresses[winner - dial->attempts], result->peer,
                      sizeof result->peer);
  finish(dial);
}

/* Begins attempts that are due: the newest has failed, or is old enough. */
static void begin_attempts(kin__dial *dial, uint64_t now_ms) {
  while (dial->begun < dial->address_count &&
         (dial->begun == 0 || dial->attempts[dial->begun - 1].fd < 0 ||
          now_ms >= dial->next_ms)) {
    begin_attempt(dial, now_ms);
  }
}

/* Waits for the first attempt that times out, and for the next one's turn.
 * Fails if there is nothing to wait for. */
static void wait_for_attempts(kin__dial *dial) {
  uint64_t due_ms =
      dial->begun < dial->address_count ? dial->next_ms : UINT64_MAX;
  for (size_t i = 0; i < dial->begun; i++) {
    const attempt *a = &dial->attempts[i];
    if (a->fd >= 0 && a->due_ms < due_ms) {
      due_ms = a->due_ms;
    }
  }
  if (due_ms != UINT64_MAX) {
    kin__timer_start(dial->net->timers, &dial->timer, due_ms);
    return;
  }
  for (size_t i = 0; i < dial->begun; i++) {
    note_failure(dial, i);
  }
  finish(dial);
}

/* The task has run, or the timer: something may have happened. */
static void go_on(kin__dial *dial) {
  uint64_t now_ms = kin__net_now_ms(dial->net);
  attempt *winner = check_attempts(dial, now_ms);
  if (winner != NULL) {
    finish_connected(dial, winner);
  } else {
    begin_attempts(dial, now_ms);
    wait_for_attempts(dial);
  }
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
    dial->state = DIAL_CONNECTING;
    go_on(dial);
  }
}

static bool step(kin__task *task) {
  kin__dial *dial = KIN__CONTAINER_OF(task, kin__dial, task);
  if (dial->state == DIAL_RESOLVING) {
    check_resolved(dial);
  } else {
    assert(dial->state == DIAL_CONNECTING);
    go_on(dial);
  }
  return false;
}

static void on_timer(kin__timer *timer) {
  kin__dial *dial = KIN__CONTAINER_OF(timer, kin__dial, timer);
  if (dial->state == DIAL_RESOLVING) {
    bool is_silent = !kin__dial_withdraw(dial);
    char why[80];
    snprintf(why, sizeof why, "%s within %lu ms",
             is_silent ? "no answer" : "libuv's thread pool had no time for it",
             (unsigned long)dial->timeout_ms);
    fail_resolve(dial, is_silent ? KIN_ETIMEDOUT : KIN_ERESOLVE, KIN_CLASS_DNS,
                 why);
  } else {
    assert(dial->state == DIAL_CONNECTING);
    go_on(dial);
  }
}

static void on_resolved(uv_getaddrinfo_t *resolver, int status,
                        struct addrinfo *first) {
  kin__dial *dial = KIN__CONTAINER_OF(resolver, kin__dial, resolver);
  if (dial->state == DIAL_ENDED) {
    dial->net->hanging -= is_running(dial);
  }
  dial->is_resolving = false;
  if (dial->state == DIAL_RESOLVING) {
    dial->resolver_status = status;
    kin__timer_stop(dial->net->timers, &dial->timer);
    dial->address_count = kin__dial_order(
        dial->addresses, KIN__DIAL_MAX_ADDRESSES, first, dial->port);
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
  dial->state = DIAL_CONNECTING;
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
    for (size_t i = 0; i < dial->begun; i++) {
      attempt *a = &dial->attempts[i];
      if (a->fd >= 0) {
        kin__net_apply_ref(net, (uv_handle_t *)&a->poll);
      }
    }
  }
}
