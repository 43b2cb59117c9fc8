/* SPDX-License-Identifier: MIT */

/* A proxy's URL, NO_PROXY, and what a proxy answers. Oracles: an answer means
 * the same however it is cut; what is passed on is the end of what came, and
 * nothing before the tunnel is open; a URL that is taken has a plain host, and
 * its secrets are in no log line; "*" in NO_PROXY stands for every host. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/link.h"
#include "fuzz/fuzz.h"
#include "transport/conn.h"
#include "transport/no_proxy.h"
#include "transport/proxy.h"

/* --- The answer ----------------------------------------------------------- */

/* A tunnel between a socket that takes everything and a stream that counts. */
typedef struct rig {
  kin__net net; /* has the error */
  kin__conn *conn;
  kin__stream below;
  kin__stream above;
  char *given;
  size_t given_length;
  bool is_open;
} rig;

static int below_send(kin__stream *stream, const char *bytes, size_t length) {
  (void)stream;
  FUZZ_CHECK(length > 0 && bytes != NULL);
  return 0;
}

static void below_free(kin__stream *stream) {
  (void)stream;
}

static int above_open(kin__stream *stream) {
  rig *r = KIN__CONTAINER_OF(stream, rig, above);
  FUZZ_CHECK(!r->is_open);
  r->is_open = true;
  return 0;
}

static int above_receive(kin__stream *stream, char *bytes, size_t length) {
  rig *r = KIN__CONTAINER_OF(stream, rig, above);
  FUZZ_CHECK(r->is_open && length > 0);
  r->given = realloc(r->given, r->given_length + length);
  FUZZ_CHECK(r->given != NULL);
  memcpy(r->given + r->given_length, bytes, length);
  r->given_length += length;
  return 0;
}

static int above_end(kin__stream *stream) {
  (void)stream;
  return 0;
}

static const kin__stream_ops below_ops = {.send = below_send,
                                          .free = below_free};
static const kin__stream_ops above_ops = {.open = above_open,
                                          .receive = above_receive,
                                          .end = above_end,
                                          .free = below_free};

/* Returns the code by which the tunnel failed, or 0. */
static int run(rig *r, const kin__proxy *proxy, kin_str answer, uint8_t how) {
  kin__stream *tunnel;
  kin__stream *top = NULL;
  memset(r, 0, sizeof *r);
  r->conn = calloc(1, sizeof *r->conn);
  FUZZ_CHECK(r->conn != NULL);
  r->conn->net = &r->net;
  FUZZ_CHECK(kin__tunnel_new(&tunnel, proxy, kin__default_allocator()) == 0);
  r->below.ops = &below_ops;
  r->above.ops = &above_ops;
  kin__stream_stack(&top, &r->below);
  kin__stream_stack(&top, tunnel);
  kin__stream_stack(&top, &r->above);
  tunnel->conn = r->conn;
  int err = tunnel->ops->open(tunnel);
  fuzz_pieces pieces = fuzz_pieces_of(answer, how);
  char *piece;
  size_t length;
  while (err == 0 && fuzz_next_piece(&pieces, &piece, &length)) {
    err = tunnel->ops->receive(tunnel, piece, length);
    free(piece);
  }
  if (err == 0) {
    err = tunnel->ops->end(tunnel);
    FUZZ_CHECK((err == 0) == r->is_open);
  }
  const kin__conn_error *error = kin__conn_get_error(r->conn, err);
  FUZZ_CHECK(err == 0 ||
             (error != NULL && !r->is_open && error->reason[0] != '\0'));
  kin__stream_free_stack(top);
  free(r->conn);
  return err;
}

static void check_answer(const kin__proxy *proxy, kin_str answer, uint8_t how) {
  rig whole;
  rig cut;
  int err = run(&whole, proxy, answer, 0);
  FUZZ_CHECK(err == run(&cut, proxy, answer, how));
  FUZZ_CHECK(strcmp(whole.net.conn_error.reason, cut.net.conn_error.reason) ==
             0);
  FUZZ_CHECK(whole.given_length == cut.given_length &&
             whole.given_length <= answer.length);
  if (cut.given_length > 0) {
    const char *end = answer.data + answer.length;
    FUZZ_CHECK(
        memcmp(whole.given, end - whole.given_length, whole.given_length) == 0);
    FUZZ_CHECK(memcmp(whole.given, cut.given, cut.given_length) == 0);
  }
  free(whole.given);
  free(cut.given);
}

/* --- URLs and lists ------------------------------------------------------- */

static const char *secret;

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  (void)data;
  FUZZ_CHECK(secret == NULL || strstr(line, secret) == NULL);
}

static kin__proxy *open_proxy(const char *url, int *err) {
  static const kin__log log = {.cb = on_log, .level = KIN_LOG_DEBUG};
  kin__url server;
  kin__proxy *proxy;
  FUZZ_CHECK(kin__url_parse(&server, kin__default_allocator(),
                            "https://server.example:6443") == 0);
  kin__proxy_options options = {.allocator = kin__default_allocator(),
                                .log = &log,
                                .url = url,
                                .server = &server,
                                .user_agent = "fuzz"};
  *err = kin__proxy_open(&proxy, &options);
  kin__url_finish(&server, kin__default_allocator());
  return proxy;
}

static const char password[] = "Xq7secretZ";

/* Whether the password stands in the user information of the URL, and nowhere
 * else: a host may be spelled like it. */
static bool is_secret(const char *url) {
  const char *authority = strstr(url, "://");
  authority = authority != NULL ? authority + 3 : url;
  size_t length = strcspn(authority, "/?#");
  const char *at = NULL;
  for (size_t i = 0; i < length; i++) {
    at = authority[i] == '@' ? authority + i : at;
  }
  const char *first = strstr(url, password);
  return at != NULL && first != NULL && first >= authority && first < at &&
         strstr(at, password) == NULL;
}

static void check_url(kin_str text) {
  char *url = fuzz_string(text);
  int err;
  secret = is_secret(url) ? password : NULL;
  kin__proxy *proxy = open_proxy(url, &err);
  FUZZ_CHECK(err == 0 || (err == KIN_EURL && proxy == NULL));
  if (proxy != NULL) {
    FUZZ_CHECK(proxy->url.host[0] != '\0' && proxy->url.port != 0);
    FUZZ_CHECK(strpbrk(proxy->url.host, "@/%?# \r\n") == NULL);
    FUZZ_CHECK(proxy->greeting.length > 0);
  }
  kin__proxy_free(proxy, kin__default_allocator());
  free(url);
}

static void check_list(kin_str host_text, kin_str list_text) {
  char *host = fuzz_string(host_text);
  char *list = fuzz_string(list_text);
  size_t size = strlen(list) + strlen(host) + 4;
  char *more = malloc(size);
  FUZZ_CHECK(more != NULL);
  bool is_in = kin__no_proxy_has(list, host, 443);
  snprintf(more, size, "%s, *", list);
  FUZZ_CHECK(kin__no_proxy_has(more, host, 443));
  /* More entries let out no server. */
  snprintf(more, size, "a,%s", list);
  FUZZ_CHECK(!is_in || kin__no_proxy_has(more, host, 443));
  free(more);
  free(list);
  free(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const urls[] = {"http://u:Xq7secretZ@h", "socks5://h",
                                     "socks5://u:Xq7secretZ@h"};
  fuzz_input in = {data, size};
  uint32_t what = fuzz_below(&in, 5);
  if (what < 3) {
    int err;
    kin__proxy *proxy = open_proxy(urls[what], &err);
    FUZZ_CHECK(proxy != NULL);
    uint8_t how = fuzz_byte(&in);
    check_answer(proxy, fuzz_rest(&in), how);
    kin__proxy_free(proxy, kin__default_allocator());
  } else if (what == 3) {
    check_url(fuzz_rest(&in));
  } else {
    kin_str host = fuzz_line(&in);
    check_list(host, fuzz_rest(&in));
  }
  return 0;
}
