/* SPDX-License-Identifier: MIT */
#include "discovery/load.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "discovery/document.h"
#include "request/request.h"

/* client-go's Accept field. */
#define AGGREGATED                                                             \
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"      \
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;"                          \
  "as=APIGroupDiscoveryList,application/json"
#define OLD "application/json"
/* Of a whole load. client-go gives each request so much. */
#define LOAD_TIMEOUT_MS 32000u
/* A version counts as asked if this much time was left when its request began.
 */
#define ENOUGH_MS 8000u
/* Requests for versions that are open at a time. */
#define MAX_VERSIONS_AT_A_TIME 4u
#define PIECES_PER_STEP 256u

/* The `data` of a request begins with the reading. */
static void on_failing(kin_error_event *event, void *data) {
  kin__load *load = ((kin__load_reading *)data)->load;
  load->failing(load, event);
}

/* 0 at the end of the load's time. */
static uint32_t time_left_ms(const kin__load *load) {
  uint64_t now_ms = kin__env_now_ms(load->host->env);
  return now_ms < load->deadline_ms ? (uint32_t)(load->deadline_ms - now_ms)
                                    : 0;
}

static int ask(kin__load_reading *reading, const char *path, const char *accept,
               const char *tag, kin_request_cb cb, void *data) {
  kin__load *load = reading->load;
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.path = path;
  spec.accept = accept;
  uint32_t left_ms = time_left_ms(load);
  spec.timeout_ms = left_ms > 0 ? left_ms : 1; /* 0 would be the default */
  spec.on_error = on_failing;
  int err = kin__request_start_unless(&reading->request, load->host, &spec, tag,
                                      cb, data);
  load->running += err == 0;
  return err;
}

void kin__load_fail(kin__load_failure *failure, int code) {
  *failure = (kin__load_failure){.code = code,
                                 .error_class =
                                     code == KIN_ENOMEM    ? KIN_CLASS_MEMORY
                                     : code == KIN_ECLOSED ? KIN_CLASS_NONE
                                                           : KIN_CLASS_DECODE};
  snprintf(failure->message, sizeof failure->message, "discovery: %s",
           kin_strerror(code));
}

static void take_failure(kin__load_failure *failure,
                         const kin_response *response) {
  *failure = (kin__load_failure){.code = response->code,
                                 .error_class = response->error_class,
                                 .status = response->status};
  snprintf(failure->reason, sizeof failure->reason, "%s",
           response->reason_text);
  snprintf(failure->message, sizeof failure->message, "%.*s",
           (int)sizeof failure->message - 1, response->message);
  kin__put_on_one_line(failure->message);
}

/* A lack of memory, and the end of the client, end the whole load. */
static void note_load_end(kin__load *load, int code) {
  if (load->end.code == 0 && (code == KIN_ENOMEM || code == KIN_ECLOSED)) {
    kin__load_fail(&load->end, code);
  }
}

/* A request could not be started. */
static void note_load_start(kin__load *load, int err) {
  if (err != 0 && load->end.code == 0) {
    kin__load_fail(&load->end, err);
  }
}

/* --- Answers -------------------------------------------------------------- */

/* In the callback of the request. `step` goes on with the reading. */
static void begin_reading(kin__load_reading *reading, kin__document_kind kind,
                          kin__api_version *version,
                          bool (*step)(kin__task *task)) {
  kin__load *load = reading->load;
  kin__buf body;
  kin__request_take_body(reading->request, &body);
  kin__document_begin(&reading->document, &load->table, kind, version, &body);
  kin__task_init(&reading->task, step);
  kin__sched_add(load->host->env->sched, &reading->task);
}

/* Returns whether more is left; else *err is the result. */
static bool read_on(kin__load_reading *reading, int *err) {
  kin__host *host = reading->load->host;
  kin__slice slice = kin__slice_begin(host->env->sched, PIECES_PER_STEP);
  int closed = kin__host_check(host);
  if (closed == 0 && kin__document_step(&reading->document, &slice)) {
    return true;
  }
  *err = closed != 0 ? closed : reading->document.error;
  kin__document_finish(&reading->document);
  return false;
}

/* --- Versions ------------------------------------------------------------- */

typedef struct version_request {
  kin__load_reading reading;
  kin__api_version *version;
  uint32_t turn; /* counts the versions from the one that is asked first */
  bool had_time;
} version_request;

static void continue_load(kin__load *load);

/* The place in the table of the version with this turn. */
static uint32_t place_of(const kin__load *load, uint32_t turn) {
  uint32_t count = load->table.version_count;
  return (load->before->ask_from % count + turn) % count;
}

/* The next load begins with the first version that had no time in this one.
 * Otherwise the same slow versions come first in each load. */
static void note_late(kin__load *load, const version_request *asked) {
  load->table.is_late |= !asked->version->was_asked;
  if (asked->turn < load->late_turn) {
    load->late_turn = asked->turn;
    load->table.ask_from = place_of(load, asked->turn);
  }
}

/* `why` is NULL if the version is known. A version that fails keeps the
 * resources that were known, unless the server says that it is not there. */
static void end_version(version_request *asked, int err, const char *why) {
  kin__load *load = asked->reading.load;
  bool is_late = err == KIN_ETIMEDOUT && !asked->had_time;
  asked->version->was_asked = !is_late;
  if (why != NULL) {
    kin__api_version_fail(asked->version, why);
  }
  if (why != NULL && err != KIN_ENOENT &&
      kin__api_table_inherit(&load->table, asked->version, load->before) != 0) {
    err = KIN_ENOMEM;
  }
  if (is_late) {
    note_late(load, asked);
  }
  load->running--;
  kin__free(load->host->env->allocator, asked);
  note_load_end(load, err);
  continue_load(load);
}

static bool version_step(kin__task *task) {
  version_request *asked =
      KIN__CONTAINER_OF(task, version_request, reading.task);
  int err;
  if (read_on(&asked->reading, &err)) {
    return true;
  }
  if (err != 0) {
    kin__api_version_clear(&asked->reading.load->table, asked->version);
  }
  end_version(asked, err, err != 0 ? kin_strerror(err) : NULL);
  return false;
}

static void on_version(const kin_response *response, void *data) {
  version_request *asked = data;
  if (response->code == 0) {
    begin_reading(&asked->reading, KIN__DOCUMENT_VERSION, asked->version,
                  version_step);
  } else {
    end_version(asked, response->code, response->message);
  }
}

static bool late_step(kin__task *task) {
  version_request *asked =
      KIN__CONTAINER_OF(task, version_request, reading.task);
  int closed = kin__host_check(asked->reading.load->host);
  end_version(asked, closed != 0 ? closed : KIN_ETIMEDOUT, "not asked in time");
  return false;
}

/* The load's time is over: one version a step fails without a request. */
static void fail_late(version_request *asked) {
  kin__load *load = asked->reading.load;
  load->running++;
  kin__task_init(&asked->reading.task, late_step);
  kin__sched_add(load->host->env->sched, &asked->reading.task);
}

static int ask_version(kin__load *load, kin__api_version *version,
                       uint32_t turn) {
  char path[2 * KIN__API_NAME_MAX + 16];
  bool is_core = version->group[0] == '\0';
  const kin_allocator *allocator = load->host->env->allocator;
  version_request *asked = kin__malloc(allocator, sizeof *asked);
  if (asked == NULL) {
    return KIN_ENOMEM;
  }
  *asked = (version_request){.reading.load = load,
                             .version = version,
                             .turn = turn,
                             .had_time = time_left_ms(load) >= ENOUGH_MS};
  load->has_asked_versions = true;
  if (time_left_ms(load) == 0) {
    fail_late(asked);
    return 0;
  }
  snprintf(path, sizeof path, "/%s%s%s/%s", is_core ? "api" : "apis",
           is_core ? "" : "/", version->group, version->version);
  int err = ask(&asked->reading, path, OLD, NULL, on_version, asked);
  if (err != 0) {
    kin__free(allocator, asked);
  }
  return err;
}

static void ask_versions(kin__load *load) {
  kin__api_table *table = &load->table;
  while (load->end.code == 0 && load->next < table->version_count &&
         load->running < MAX_VERSIONS_AT_A_TIME) {
    uint32_t turn = load->next++;
    kin__api_version *version = table->versions[place_of(load, turn)];
    if (version->state == KIN__API_PENDING) {
      note_load_start(load, ask_version(load, version, turn));
    }
  }
}

/* --- Roots ---------------------------------------------------------------- */

static void on_root(const kin_response *response, void *data);

static unsigned root_index(const kin__load_root *root) {
  return root->is_core ? 0 : 1;
}

static int ask_root(kin__load_root *root) {
  const kin__load *load = root->reading.load;
  return ask(&root->reading, root->is_core ? "/api" : "/apis",
             root->is_plain ? OLD : AGGREGATED,
             root->is_plain ? NULL : load->known.of_root[root_index(root)],
             on_root, root);
}

/* Whether the old form may be answered where the aggregated one is not. */
static bool may_be_plain(int status, int err) {
  return status == 400 || status == 404 || status == 406 || status == 415 ||
         err == KIN_EJSON || err == KIN_EUNEXPECTED;
}

/* A server may have no core group, or nothing but that: an aggregated API
 * server is one. */
static bool is_absent(const kin__load_root *root) {
  return root->failure.status == 404;
}

static void end_root(kin__load_root *root) {
  root->reading.load->running--;
  continue_load(root->reading.load);
}

/* The answer has this status and cannot be used. Returns whether the root is
 * asked in the old form. */
static bool ask_plainly(kin__load_root *root, int status, int err) {
  kin__load *load = root->reading.load;
  note_load_end(load, err);
  if (load->end.code != 0 || root->is_plain || !may_be_plain(status, err)) {
    return false;
  }
  root->is_plain = true;
  note_load_start(load, ask_root(root));
  return true;
}

static bool root_step(kin__task *task) {
  kin__load_root *root = KIN__CONTAINER_OF(task, kin__load_root, reading.task);
  int err;
  if (read_on(&root->reading, &err)) {
    return true;
  }
  if (err != 0 && !ask_plainly(root, 200, err)) {
    kin__load_fail(&root->failure, err);
    snprintf(root->failure.message, sizeof root->failure.message,
             "discovery: %s: %s", root->is_core ? "/api" : "/apis",
             kin_strerror(err));
  }
  end_root(root);
  return false;
}

static void on_root(const kin_response *response, void *data) {
  kin__load_root *root = data;
  kin__load *load = root->reading.load;
  unsigned index = root_index(root);
  if (response->code == 0) {
    if (!root->is_plain) {
      snprintf(load->tags.of_root[index], sizeof load->tags.of_root[index],
               "%s", kin__request_etag(root->reading.request));
    }
    begin_reading(&root->reading,
                  root->is_core ? KIN__DOCUMENT_CORE : KIN__DOCUMENT_GROUPS,
                  NULL, root_step);
    return;
  }
  if (response->status == 304 && load->known.of_root[index][0] != '\0') {
    root->is_unchanged = true;
  } else if (!ask_plainly(root, response->status, response->code)) {
    take_failure(&root->failure, response);
  }
  end_root(root);
}

/* --- What is known of a root that fails ----------------------------------- */

/* The root that fails while the other one does not, or NULL. */
static const kin__load_root *lacking_root(const kin__load *load) {
  const kin__load_root *lacking = NULL;
  for (int i = 0; i < 2 && kin__load_failed(load) == NULL; i++) {
    const kin__load_root *root = &load->roots[i];
    lacking = root->failure.code != 0 && !is_absent(root) ? root : lacking;
  }
  return lacking;
}

static bool inherit_step(kin__task *task) {
  kin__load *load = KIN__CONTAINER_OF(task, kin__load, inheriting);
  kin__slice slice = kin__slice_begin(load->host->env->sched, PIECES_PER_STEP);
  int err = kin__host_check(load->host);
  while (err == 0 && load->inherit_next < load->inherit_end) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    err = kin__api_table_inherit_version(
        &load->table, load->before->versions[load->inherit_next++]);
  }
  load->running--;
  note_load_end(load, err);
  continue_load(load);
  return false;
}

/* Once, after the roots. The versions are copied: those of the other root go on
 * changing. */
static void begin_inheriting(kin__load *load) {
  const kin__load_root *root = lacking_root(load);
  const kin__api_table *before = load->before;
  if (root == NULL || load->inherit_end > 0) {
    return;
  }
  load->inherit_next = root->is_core ? 0 : before->core_count;
  load->inherit_end =
      root->is_core ? before->core_count : before->version_count;
  if (load->inherit_next < load->inherit_end) {
    load->running++;
    kin__task_init(&load->inheriting, inherit_step);
    kin__sched_add(load->host->env->sched, &load->inheriting);
  }
}

/* --- The load ------------------------------------------------------------- */

/* Versions wait until both roots are there, so that `next` passes none. */
static bool has_roots(const kin__load *load) {
  return load->next > 0 || load->running == 0;
}

/* The other root has changed or failed: a new table needs all of this one. */
static void ask_again(kin__load *load) {
  for (int i = 0; i < 2 && load->end.code == 0; i++) {
    kin__load_root *root = &load->roots[i];
    if (root->is_unchanged) {
      root->is_unchanged = false;
      load->known.of_root[i][0] = '\0';
      note_load_start(load, ask_root(root));
    }
  }
}

static void continue_load(kin__load *load) {
  if (load->running == 0 && !kin__load_is_unchanged(load)) {
    ask_again(load);
  }
  if (load->running == 0) {
    begin_inheriting(load);
  }
  if (has_roots(load)) {
    ask_versions(load);
  }
  if (load->running == 0) {
    load->done(load);
  }
}

int kin__load_start(kin__load *load, kin__host *host,
                    const kin__api_table *before, const kin__load_tags *known,
                    void (*done)(kin__load *load),
                    void (*failing)(kin__load *load, kin_error_event *event)) {
  memset(load, 0, sizeof *load);
  load->host = host;
  load->before = before;
  load->done = done;
  load->failing = failing;
  load->late_turn = UINT32_MAX;
  load->deadline_ms =
      kin__deadline_ms(kin__env_now_ms(host->env), LOAD_TIMEOUT_MS);
  if (known != NULL) {
    load->known = *known;
  }
  kin__api_table_init(&load->table, host->env->allocator);
  load->table.ask_from = before->ask_from;
  for (int i = 0; i < 2; i++) {
    load->roots[i] = (kin__load_root){.reading.load = load, .is_core = i == 0};
  }
  int err = ask_root(&load->roots[0]);
  if (err == 0) {
    note_load_start(load, ask_root(&load->roots[1]));
  }
  return err;
}

bool kin__load_is_unchanged(const kin__load *load) {
  return load->end.code == 0 && load->roots[0].is_unchanged &&
         load->roots[1].is_unchanged;
}

/* The tags of the roots, or NULL if they do not stand for the whole table: an
 * answer that was asked for besides the roots has no tag. */
const kin__load_tags *kin__load_tags_of(const kin__load *load) {
  bool is_whole = load->end.code == 0 && !load->has_asked_versions;
  for (int i = 0; i < 2; i++) {
    const kin__load_root *root = &load->roots[i];
    is_whole = is_whole && root->failure.code == 0 && !root->is_plain &&
               load->tags.of_root[i][0] != '\0';
  }
  return is_whole ? &load->tags : NULL;
}

const kin__load_failure *kin__load_failed(const kin__load *load) {
  const kin__load_root *core = &load->roots[0];
  const kin__load_root *groups = &load->roots[1];
  if (load->end.code != 0) {
    return &load->end;
  }
  if (core->failure.code == 0 || groups->failure.code == 0) {
    return NULL;
  }
  return is_absent(core) ? &groups->failure : &core->failure;
}

const kin__load_failure *kin__load_lacks(const kin__load *load) {
  const kin__load_root *root = lacking_root(load);
  return root != NULL ? &root->failure : NULL;
}
