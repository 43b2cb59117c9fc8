/* SPDX-License-Identifier: MIT */
#include "support/proxy_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One reply of each kind of server. A test has one world at a time. */
static tls_reply tls_answer;
static loop_reply plain_answer;

void proxy_world_init(proxy_world *p, bool is_tls, const char *scheme,
                      const char *reply, size_t fail_at) {
  memset(p, 0, sizeof *p);
  tls_answer = (tls_reply){.bytes = reply};
  plain_answer = (loop_reply){.bytes = reply};
  tls_world_init(&p->t, &tls_answer, 1, fail_at);
  p->t.w.server.replies = &plain_answer;
  p->t.w.server.reply_count = 1;
  p->scheme = scheme;
  p->user_info = "";
  p->is_tls = is_tls;
  char path[128];
  tls_world_path(&p->t, "bundle", path, sizeof path);
  tls_write_file(path, tls_pki_get()->authority_pem);
  setenv("SSL_CERT_FILE", path, 1);
}

int proxy_world_open(proxy_world *p, const char *host) {
  tls_world *t = &p->t;
  int port = t->w.server.port;
  if (p->is_tls) {
    tls_server_open(&t->server, &t->w.loop, &t->serve, t->server.replies,
                    t->server.reply_count);
    port = t->server.port;
  }
  p->serve.target_port = port;
  proxy_server_open(&p->proxy, &t->w.loop, &p->serve);
  snprintf(p->proxy_url, sizeof p->proxy_url, "%s://%s127.0.0.1:%d", p->scheme,
           p->user_info, p->proxy.port);
  t->w.proxy_url = p->proxy_url;
  char url[300];
  snprintf(url, sizeof url, "http%s://%s:%d/prefix", p->is_tls ? "s" : "", host,
           port);
  return tls_world_open_at(t, url);
}

void proxy_world_close(proxy_world *p) {
  if (p->proxy.loop != NULL) {
    proxy_server_close(&p->proxy);
  }
  tls_world_close(&p->t);
  unsetenv("SSL_CERT_FILE");
}

const char *proxy_world_try(proxy_world *p, kin__exchange_error *error) {
  static char message[400];
  fetch f = {.world = &p->t.w};
  fetch_run(&f, &p->t.w, "/x");
  snprintf(message, sizeof message, "%s", f.error.message);
  if (f.error.code == 0) {
    assert_int_equal(f.status, 200);
    assert_string_equal(f.body, "hello");
  }
  if (error != NULL) {
    *error = f.error;
  }
  fetch_finish(&f);
  return message;
}
