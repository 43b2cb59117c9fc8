/* SPDX-License-Identifier: MIT */
#include "client/route.h"

#include "transport/exchange.h"

static int start_exchange(void *ctx, const kin__request *request,
                          const kin__exchange_callbacks *callbacks,
                          void *callbacks_ctx, void **out) {
  kin__exchange *exchange;
  int err =
      kin__exchange_start(ctx, request, callbacks, callbacks_ctx, &exchange);
  *out = err == 0 ? exchange : NULL;
  return err;
}

static void cancel_exchange(void *exchange) {
  kin__exchange_cancel(exchange);
}

static void pause_exchange(void *exchange) {
  kin__exchange_pause(exchange);
}

static void resume_exchange(void *exchange) {
  kin__exchange_resume(exchange);
}

static void get_server_stats(void *ctx, kin__server_stats *stats) {
  kin__server_get_stats(ctx, stats);
}

static void set_server_ref(void *ctx, bool is_ref) {
  kin__server_set_ref(ctx, is_ref);
}

static void close_server(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx) {
  kin__server_close(ctx, cb, cb_ctx);
}

int kin__server_route(kin__route *out, const kin__server_place *place,
                      const kin_client_options *options, void *ctx) {
  (void)ctx;
  kin__server *server;
  int err = kin__server_open(&server, place, options);
  if (err != 0) {
    return err;
  }
  *out = (kin__route){.ops = {.start = start_exchange,
                              .cancel = cancel_exchange,
                              .pause = pause_exchange,
                              .resume = resume_exchange,
                              .ctx = kin__server_transport(server)},
                      .get_stats = get_server_stats,
                      .set_ref = set_server_ref,
                      .close = close_server,
                      .ctx = server};
  return 0;
}
