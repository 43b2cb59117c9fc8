/* SPDX-License-Identifier: MIT */
#include "sim/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A revision is also spent on writes to resources nobody here looks at. */
#define FOREIGN_WRITES 3
/* etcdctl snapshot restore --bump-revision --mark-compacted. */
#define REVISION_BUMP 1000000u

static uint64_t below(api *server, uint64_t bound) {
  return kin__random_below(server->random, bound);
}

void api_init(api *server, kin__random *random, sim_trace *trace, int pods) {
  memset(server, 0, sizeof *server);
  server->objects = API_NODES + pods;
  server->random = random;
  server->trace = trace;
  server->revision = 100;
  server->compacted = server->watchable = server->floor = 100;
  for (int i = 0; i < API_OBJECTS; i++) {
    server->current[i] = API_NONE;
  }
}

bool api_may_write(const api *server, int count) {
  return server->write_count + count <= API_WRITES;
}

const char *api_namespace(int namespace_) {
  static const char *const names[API_NAMESPACES] = {"a", "b", "c"};
  return names[namespace_];
}

int api_namespace_of(int object) {
  return object < API_NODES ? API_NONE : (object - API_NODES) % API_NAMESPACES;
}

void api_key(int object, char key[16]) {
  if (object < API_NODES) {
    snprintf(key, 16, "n%d", object);
  } else {
    snprintf(key, 16, "%s/p%d", api_namespace(api_namespace_of(object)),
             object - API_NODES);
  }
}

int api_object_of(kin_str key) {
  char text[16];
  char expected[16];
  if (key.length >= sizeof text) {
    return API_NONE;
  }
  snprintf(text, sizeof text, KIN_STR_FORMAT, KIN_STR_ARG(key));
  bool is_pod = strlen(text) > 3 && text[1] == '/';
  int object = is_pod ? API_NODES + atoi(text + 3)
                      : atoi(text[0] != '\0' ? text + 1 : "");
  if (object < 0 || object >= API_OBJECTS) {
    return API_NONE;
  }
  api_key(object, expected);
  return strcmp(text, expected) == 0 ? object : API_NONE;
}

void api_uid(const api_write *write, char uid[24]) {
  snprintf(uid, 24, "u-%d-%d", write->object, write->incarnation);
}

static void record(api *server, api_write write) {
  server->revision += 1 + below(server, FOREIGN_WRITES);
  write.revision = server->revision;
  int i = server->write_count++;
  server->writes[i] = write;
  server->timeline[server->length++] = i;
  server->current[write.object] = write.is_delete ? API_NONE : i;
  char key[16];
  api_key(write.object, key);
  sim_say(server->trace, "api %s %s %" PRIu64 " w%d app=a%d",
          write.is_delete              ? "delete"
          : write.previous == API_NONE ? "create"
                                       : "change",
          key, write.revision, i, write.app);
}

void api_put(api *server, int object) {
  int previous = server->current[object];
  int incarnation = previous == API_NONE ? ++server->incarnations[object]
                                         : server->writes[previous].incarnation;
  /* Mostly short; now and then longer than any buffer on the way. */
  uint64_t padding = below(server, 30) == 0 ? 6000 : below(server, 120);
  record(server, (api_write){.object = object,
                             .incarnation = incarnation,
                             .previous = previous,
                             .app = (uint8_t)below(server, API_APPS),
                             .node = (uint8_t)below(server, API_NODE_NAMES),
                             .images = (uint8_t)below(server, 1u << API_IMAGES),
                             .style = (uint8_t)below(server, 256),
                             .padding = (uint16_t)padding});
}

void api_delete(api *server, int object) {
  int previous = server->current[object];
  if (previous != API_NONE) {
    api_write gone = server->writes[previous];
    gone.previous = previous;
    gone.is_delete = true;
    record(server, gone);
  }
}

void api_change(api *server) {
  int object = (int)below(server, (uint64_t)server->objects);
  uint64_t what = below(server, 6);
  if (what < 2) {
    api_delete(server, object);
  }
  if (what > 0) {
    api_put(server, object);
  }
}

void api_compact(api *server) {
  uint64_t kept = below(server, 2) == 0 ? 0 : below(server, 30);
  uint64_t to = server->revision - (kept < server->revision ? kept : 0);
  if (to > server->compacted) {
    server->compacted = to;
  }
  if (to > server->watchable && below(server, 2) == 0) {
    server->watchable = to;
  }
  sim_say(server->trace, "api compacted up to %" PRIu64, server->compacted);
}

void api_restart(api *server) {
  server->revision += below(server, FOREIGN_WRITES);
  api_restart_in_place(server);
}

void api_restart_in_place(api *server) {
  server->floor = server->watchable = server->revision;
  sim_say(server->trace, "api restarted at %" PRIu64, server->revision);
}

void api_restore(api *server, uint64_t revision, bool is_marked) {
  api_state_at(server, revision, server->current);
  server->length = api_after(server, revision);
  server->restores++;
  server->revision = revision + (is_marked ? REVISION_BUMP : 0);
  /* The new process knows what is there now, and nothing from before. */
  server->floor = server->compacted = server->watchable = server->revision;
  sim_say(server->trace, "api restored to %" PRIu64 ", goes on at %" PRIu64,
          revision, server->revision);
}

int api_after(const api *server, uint64_t revision) {
  int low = 0;
  int high = server->length;
  while (low < high) {
    int middle = (low + high) / 2;
    if (server->writes[server->timeline[middle]].revision <= revision) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void api_state_at(const api *server, uint64_t revision,
                  int state[API_OBJECTS]) {
  for (int i = 0; i < server->objects; i++) {
    state[i] = API_NONE;
  }
  int end = api_after(server, revision);
  for (int i = 0; i < end; i++) {
    const api_write *write = &server->writes[server->timeline[i]];
    state[write->object] = write->is_delete ? API_NONE : server->timeline[i];
  }
}

bool api_covers(const api_selection *selection, int object) {
  if (selection->is_nodes != (object < API_NODES)) {
    return false;
  }
  return selection->namespace_ == API_NONE ||
         selection->namespace_ == api_namespace_of(object);
}

bool api_selects(const api *server, const api_selection *selection, int write) {
  if (write == API_NONE || server->writes[write].is_delete) {
    return false;
  }
  const api_write *w = &server->writes[write];
  char uid[24];
  api_uid(w, uid);
  return api_covers(selection, w->object) &&
         kin__shard_has(&selection->shard, kin__cstr(uid)) &&
         (selection->app == API_NONE || selection->app == w->app);
}
