/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include "base/str.h"

/* What lives by the wall clock, which is set forward and back: a cache of what
 * was deleted not long ago (EX-01, EX-02), beside a naive one. */

#define TTL_MS 20000u

static uint64_t wall_now_ms(void *ctx) {
  return sim_wall_ms(ctx);
}

void sim_graves_init(sim_world *w) {
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = &w->memory.allocator;
  options.now_ms = wall_now_ms;
  options.now_ctx = w;
  options.ttl_ms = TTL_MS;
  int err = kin_expiring_store_new(&w->graves.store, &options);
  SIM_CHECK(&w->trace, err == 0, "no expiring store: %s", kin_err_name(err));
}

void sim_graves_bury(sim_world *w, const kin_object *object) {
  int number = api_object_of(kin_object_key(object));
  if (number == API_NONE) {
    return;
  }
  int err = kin_expiring_store_put(w->graves.store, object);
  SIM_CHECK(&w->trace, err == 0 || err == KIN_ENOMEM, "a grave: %s",
            kin_err_name(err));
  if (err == 0) {
    w->graves.is_there[number] = true;
    w->graves.put_ms[number] = sim_wall_ms(w);
  }
}

void sim_graves_check(sim_world *w) {
  uint64_t now_ms = sim_wall_ms(w);
  for (int i = 0; i < w->api.objects; i++) {
    char key[16];
    api_key(i, key);
    uint64_t put_ms = w->graves.put_ms[i];
    uint64_t age_ms = now_ms > put_ms ? now_ms - put_ms : 0;
    /* Asked for and found too old, it is removed for good. */
    w->graves.is_there[i] = w->graves.is_there[i] && age_ms <= TTL_MS;
    bool is_found =
        kin_expiring_store_get(w->graves.store, kin__cstr(key)) != NULL;
    SIM_CHECK(&w->trace, is_found == w->graves.is_there[i],
              "the grave of %s is %s", key, is_found ? "there" : "not there");
  }
}

void sim_graves_finish(sim_world *w) {
  kin_expiring_store_free(w->graves.store);
  w->graves.store = NULL;
}
