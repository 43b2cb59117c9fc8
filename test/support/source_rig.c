/* SPDX-License-Identifier: MIT */
#include "informer/informer.h"
#include "support/source_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  source_rig *rig = data;
  assert_ptr_equal(informer, rig->informer);
  rig->errors++;
  rig->error = *event;
  snprintf(rig->reason, sizeof rig->reason, "%s", event->reason);
  snprintf(rig->message, sizeof rig->message, "%s", event->message);
}

void source_rig_open_with(source_rig *rig, uint32_t page_size,
                          bool watch_list) {
  memset(rig, 0, sizeof *rig);
  vh_init(&rig->vh, 0);
  script_use_streams(&rig->vh.script);
  hand_source_init(&rig->source, &rig->vh.script);
  rig->source.lister_watcher.watch_list = watch_list;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.page_size = page_size;
  options.source = &rig->source.lister_watcher;
  options.on_error = on_error;
  options.data = rig;
  kin__host *host = &rig->vh.host;
  assert_int_equal(kin__informer_open_on(&rig->informer, host, &options), 0);
  rig->source.lister_watcher = (kin_lister_watcher){0}; /* it was copied */
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = event_log_cb;
  listener.on_synced = listener.on_relisted = event_log_cb;
  listener.data = &rig->log;
  assert_int_equal(
      kin_informer_listen(rig->informer, &listener, &rig->listener), 0);
  assert_int_equal(kin_informer_start(rig->informer), 0);
  script_run(&rig->vh.script);
}

void source_rig_open(source_rig *rig, uint32_t page_size) {
  source_rig_open_with(rig, page_size, false);
}

void source_rig_close(source_rig *rig) {
  vh_finish(&rig->vh);
  assert_false(rig->source.is_open);
}

void source_rig_open_watching(source_rig *rig) {
  source_rig_open(rig, 0);
  hand_source_list(&rig->source, "a@1", "5");
  assert_int_equal(kin_feed_open(rig->source.feed), 0);
  script_run(&rig->vh.script);
  hand_source_expect(&rig->source, "L:0/500 W:5");
  event_log_expect(&rig->log, "+a1! S:5#1");
}

kin_status source_rig_status(const source_rig *rig) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(rig->informer, "", &status), 0);
  return status;
}
