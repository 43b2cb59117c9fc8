/* SPDX-License-Identifier: MIT */
#include "support/virtual_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "informer/informer.h"

static void on_log(kin_log_level level, const char *line, void *data) {
  virtual_host *vh = data;
  size_t length = strlen(vh->text);
  if (strstr(line, " -> ") != NULL) {
    return; /* an informer's state */
  }
  snprintf(vh->text + length, sizeof vh->text - length, "%c %s\n",
           "?EWID"[level], line);
}

static void on_left(kin__members *members) {
  virtual_host *vh = KIN__CONTAINER_OF(members, virtual_host, host.members);
  if (members->is_closing && kin__members_is_empty(members)) {
    assert_false(vh->is_closed);
    vh->is_closed = true;
  }
}

static void on_call(script_env *script) {
  virtual_host *vh = KIN__CONTAINER_OF(script, virtual_host, script);
  kin__members_tell(&vh->host.members, KIN__NEWS_CALLED);
}

void vh_init(virtual_host *vh, size_t fail_at) {
  memset(vh, 0, sizeof *vh);
  fail_alloc_init(&vh->memory, 0);
  script_env_init(&vh->script, &vh->memory.allocator);
  mini_server_init(&vh->server, &vh->script);
  vh->log = (kin__log){on_log, vh, KIN_LOG_INFO};
  vh->script.env.log = &vh->log;
  vh->script.on_call = on_call;
  vh->host.env = &vh->script.env;
  kin__members_init(&vh->host.members);
  vh->host.members.left = on_left;
  /* What comes before is the test's own. */
  atomic_store(&vh->memory.calls, 0);
  vh->memory.fail_at = fail_at;
}

void vh_close(virtual_host *vh) {
  bool is_empty = kin__members_is_empty(&vh->host.members);
  assert_false(vh->host.members.is_closing);
  kin__members_close(&vh->host.members);
  if (is_empty) {
    vh->is_closed = true;
  }
}

void vh_finish(virtual_host *vh) {
  if (!vh->host.members.is_closing) {
    vh_close(vh);
  }
  script_run(&vh->script);
  assert_true(vh->is_closed);
  script_env_finish(&vh->script);
  assert_int_equal(atomic_load(&vh->memory.live_blocks), 0);
}

int vh_count_logged(const virtual_host *vh, const char *wanted) {
  int count = 0;
  for (const char *at = vh->text; (at = strstr(at, wanted)) != NULL; at++) {
    count++;
  }
  return count;
}

int vh_open_informer(virtual_host *vh, kin_informer **out, const char *plural) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = plural;
  options.no_watch_list = true;
  return kin__informer_open_on(out, &vh->host, &options);
}
