/* SPDX-License-Identifier: MIT */
/* The life of a look-up:
 *
 *   WAITING <-> DUE -> ENDED
 *
 * WAITING waits for the end of a load, DUE for its deferred step, in which it
 * looks its word up. A word that is unknown goes back to WAITING once, if the
 * server may be asked again. Any state may go to ENDED: `failure` holds the
 * result then, and the deferred step calls the program back.
 *
 * The table is a member of the client that no program sees. It joins with the
 * first look-up and leaves when the client closes. Then all look-ups have ended
 * in their own close, and only the load's requests are waited for. */
#include "discovery/discovery.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "discovery/load.h"
#include "discovery/lookup.h"
#include "discovery/message.h"
#include "discovery/near.h"

/* Between two loads that unknown words ask for. */
#define RELOAD_AFTER_MS 10000u

typedef struct resource_table {
  kin__member member;
  kin__api_table table; /* of use iff has_table */
  bool has_table;
  kin__load_tags tags; /* of `table`, iff has_tags */
  bool has_tags;
  bool is_old;     /* the program said so: look-ups need a load */
  bool is_stale;   /* the same, since the last load began */
  bool is_foreign; /* the tables and tags are those of another server */
  bool is_loading;
  uint32_t generation;       /* of the server, when the last load began */
  bool is_ending;            /* the member has nothing left but this load */
  uint64_t loaded_ms;        /* when the last load began */
  kin__load_failure failure; /* of the last load; code 0: none */
  kin__load_failure lack;    /* of a part of `table`; code 0: none */
  kin__link waiting;         /* for the load that runs */
  kin__link later;           /* for the next load */
  kin__load load;
  kin_request_error_cb on_error; /* of the program; NULL: none */
  void *on_error_data;
} resource_table;

typedef enum find_state { FIND_WAITING, FIND_DUE, FIND_ENDED } find_state;

struct kin_discovery {
  kin__member member;
  kin_discovery_cb cb;
  void *data;
  char *text; /* the word as given; "" for all resources */
  kin__word word;
  bool has_all_versions; /* of all resources; else the preferred ones */
  find_state state;
  bool has_waited; /* for a load */
  kin__link node;  /* in waiting or later iff FIND_WAITING */
  kin__deferred step;
  kin__load_failure failure; /* FIND_ENDED; code 0: the word is looked up */
};

static const kin__env *env_of_find(const kin_discovery *find) {
  return find->member.env;
}

static bool is_of_all(const kin_discovery *find) {
  return find->word.resource.length == 0;
}

static resource_table *table_of(const kin__host *host) {
  return host->discovery == NULL
             ? NULL
             : KIN__CONTAINER_OF(host->discovery, resource_table, member);
}

/* --- Results -------------------------------------------------------------- */

/* The parts of a result that own memory. */
typedef struct find_answer {
  kin__found found;
  kin__near near;
  const char *near_words[KIN__NEAR_MAX];
  char word[KIN__WORD_MAX + 1];
  char message[KIN__DISCOVERY_MESSAGE_BYTES];
} find_answer;

static void describe_unknown(find_answer *answer, const kin_discovery *find,
                             const kin__api_table *table) {
  kin__near_find(&answer->near, table, find->word.resource);
  for (size_t i = 0; i < answer->near.count; i++) {
    answer->near_words[i] = answer->near.words[i];
  }
}

static void call_program(kin_discovery *find, find_answer *answer,
                         const kin__load_failure *failure) {
  const kin__env *env = env_of_find(find);
  kin_discovery_result result = {
      .size = sizeof result,
      .code = failure->code,
      .error_class = failure->error_class,
      .status = failure->status,
      .message =
          failure->message[0] != '\0' ? failure->message : answer->message,
      .word = answer->word,
      .name = find->word.name.length > 0 ? find->word.name.data : "",
      .is_category = answer->found.is_category,
      .resources = answer->found.resources,
      .resource_count = answer->found.count,
      .near_words = answer->near_words,
      .near_count = answer->near.count,
      .reason = failure->reason};
  uint64_t start_ns = kin__clock_ns(&env->clock);
  find->cb(&result, find->data);
  kin__env_add_handler_time(env, start_ns);
}

/* Calls the program and ends. `failure` as in kin_discovery. The callback may
 * begin a load, which has a failure of its own. */
static void give_result(kin_discovery *find, find_answer *answer,
                        const kin__load_failure *failure) {
  const kin__load_failure kept = *failure;
  find->state = FIND_ENDED;
  call_program(find, answer, &kept);
  kin__found_finish(&answer->found);
  kin__member_gone(&find->member);
}

static void answer_begin(find_answer *answer, const kin_discovery *find) {
  memset(answer, 0, offsetof(find_answer, word));
  kin_str word = find->word.resource;
  memcpy(answer->word, word.data, word.length);
  answer->word[word.length] = '\0';
  answer->message[0] = '\0';
  answer->found.allocator = env_of_find(find)->allocator;
}

/* --- Loads ---------------------------------------------------------------- */

static void make_due(kin_discovery *find) {
  kin__link_remove(&find->node);
  find->state = FIND_DUE;
  kin__env_defer(env_of_find(find), &find->step);
}

static void make_all_due(resource_table *table) {
  while (!kin__link_is_empty(&table->waiting)) {
    make_due(KIN__CONTAINER_OF(table->waiting.next, kin_discovery, node));
  }
}

static void begin_load(resource_table *table);

/* Whether other settings of the server are in use than when the last load
 * began. */
static bool has_other_server(const resource_table *table) {
  return table->generation != kin__env_server_generation(table->member.env);
}

static void keep_result(resource_table *table) {
  kin__load *load = &table->load;
  const kin__load_failure *failed = kin__load_failed(load);
  const kin__load_failure *lack = kin__load_lacks(load);
  if (failed != NULL) {
    table->failure = *failed;
    kin__api_table_finish(&load->table);
    return;
  }
  table->failure = (kin__load_failure){.code = 0};
  table->is_old = table->is_stale;
  if (kin__load_is_unchanged(load)) {
    kin__api_table_finish(&load->table);
    return;
  }
  const kin__load_tags *tags = kin__load_tags_of(load);
  table->has_tags = tags != NULL;
  if (tags != NULL) {
    table->tags = *tags;
  }
  kin__api_table_finish(&table->table);
  table->lack = lack != NULL ? *lack : table->failure;
  table->table = load->table;
  table->has_table = true;
  table->is_foreign = false;
}

static void on_loaded(kin__load *load) {
  resource_table *table = KIN__CONTAINER_OF(load, resource_table, load);
  table->is_loading = false;
  keep_result(table);
  make_all_due(table);
  if (table->is_ending) {
    kin__member_end(&table->member);
  } else if (!kin__link_is_empty(&table->later)) {
    kin__link_splice(&table->waiting, &table->later);
    begin_load(table);
  }
}

static void on_load_failing(kin__load *load, kin_error_event *event) {
  resource_table *table = KIN__CONTAINER_OF(load, resource_table, load);
  if (table->on_error != NULL) {
    table->on_error(event, table->on_error_data);
  }
}

static void begin_load(resource_table *table) {
  static const kin__api_table nothing = {.version_count = 0};
  const kin__env *env = table->member.env;
  table->is_foreign = table->is_foreign || has_other_server(table);
  bool may_keep = table->has_table && table->has_tags && !table->is_foreign;
  table->is_stale = false;
  table->generation = kin__env_server_generation(env);
  table->loaded_ms = kin__env_now_ms(env);
  int err = kin__load_start(&table->load, table->member.host,
                            table->is_foreign ? &nothing : &table->table,
                            may_keep ? &table->tags : NULL, on_loaded,
                            on_load_failing);
  table->is_loading = err == 0;
  if (err != 0) {
    kin__load_fail(&table->failure, err);
    make_all_due(table);
  }
}

/* Whether a look-up that begins now must wait for a load. */
static bool needs_load(const resource_table *table) {
  return !table->has_table || table->is_old || table->is_foreign ||
         has_other_server(table);
}

static void wait_for_load(kin_discovery *find, resource_table *table) {
  bool is_late =
      table->is_loading && (table->is_stale || has_other_server(table));
  find->state = FIND_WAITING;
  find->has_waited = true;
  kin__link_push(is_late ? &table->later : &table->waiting, &find->node);
  if (!table->is_loading) {
    begin_load(table);
  }
}

/* --- The table's life ----------------------------------------------------- */

/* The look-ups have ended or are ending by themselves: they are members,
 * too. */
static void table_close(kin__member *member) {
  resource_table *table = KIN__CONTAINER_OF(member, resource_table, member);
  table->is_ending = true;
  if (!table->is_loading) {
    kin__member_end(member);
  }
}

static void table_free(kin__member *member) {
  resource_table *table = KIN__CONTAINER_OF(member, resource_table, member);
  member->host->discovery = NULL;
  kin__api_table_finish(&table->table);
  kin__free(member->env->allocator, table);
}

static const kin__member_ops table_ops = {.close = table_close,
                                          .free = table_free};

static int make_table(kin__host *host) {
  resource_table *table = kin__calloc(host->env->allocator, 1, sizeof *table);
  if (table == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&table->member, &table_ops, host->env);
  kin__api_table_init(&table->table, host->env->allocator);
  kin__link_init(&table->waiting);
  kin__link_init(&table->later);
  kin__member_join(&table->member, host);
  host->discovery = &table->member;
  return 0;
}

/* --- A look-up's life ----------------------------------------------------- */

static void end_find(kin_discovery *find, int code, const char *reason) {
  bool is_deferred = find->state == FIND_DUE;
  kin__link_remove(&find->node);
  find->state = FIND_ENDED;
  find->failure = (kin__load_failure){.code = code};
  bool is_all = is_of_all(find);
  const char *quote = is_all ? "" : "\"";
  /* A long word would leave no room for the reason. */
  kin_str what = is_all ? KIN__LIT("all resources")
                        : kin__str_cut(find->word.resource, 80);
  snprintf(find->failure.message, sizeof find->failure.message,
           "discovery of %s%.*s%s: %s", quote, (int)what.length, what.data,
           quote, reason);
  if (!is_deferred) {
    kin__env_defer(env_of_find(find), &find->step);
  }
}

static void find_close(kin__member *member) {
  kin_discovery *find = KIN__CONTAINER_OF(member, kin_discovery, member);
  if (find->state != FIND_ENDED) {
    end_find(find, KIN_ECLOSED, "the client was closed");
  }
}

static void find_free(kin__member *member) {
  kin_discovery *find = KIN__CONTAINER_OF(member, kin_discovery, member);
  kin__free(member->env->allocator, find->text);
  kin__free(member->env->allocator, find);
}

static const kin__member_ops find_ops = {.close = find_close,
                                         .free = find_free};

/* Whether the server is to be asked again because of an unknown word, or of
 * resources that are not known. */
static bool may_reload(const kin_discovery *find, const resource_table *table) {
  uint64_t now_ms = kin__env_now_ms(env_of_find(find));
  return !find->has_waited &&
         (table->is_loading || now_ms - table->loaded_ms >= RELOAD_AFTER_MS);
}

/* Why the table may be incomplete; code 0: the server was asked for all. */
static const kin__load_failure *why_incomplete(const resource_table *table) {
  return table->failure.code != 0 ? &table->failure : &table->lack;
}

static void answer_all(kin_discovery *find, resource_table *table,
                       find_answer *answer) {
  kin__load_failure failure = *why_incomplete(table);
  kin__discovery_say_missing(answer->message, &table->table);
  bool is_incomplete = failure.code != 0 || answer->message[0] != '\0';
  if (is_incomplete && may_reload(find, table)) {
    wait_for_load(find, table);
    return;
  }
  int err =
      kin__lookup_all(&answer->found, &table->table, find->has_all_versions);
  if (err != 0) {
    kin__found_finish(&answer->found);
    kin__load_fail(&failure, err);
  } else {
    failure.code = 0;
  }
  give_result(find, answer, &failure);
}

/* The word is not in the table. */
static void answer_unknown(kin_discovery *find, resource_table *table,
                           find_answer *answer, int code) {
  const kin__load_failure *why = why_incomplete(table);
  if (code == KIN_ENOENT && why->code != 0) {
    give_result(find, answer, why);
    return;
  }
  kin__load_failure failure = {.code = code};
  if (code == KIN_ENOENT) {
    describe_unknown(answer, find, &table->table);
  }
  if (code == KIN_ENOMEM) {
    kin__load_fail(&failure, code);
  } else if (code == KIN_EAMBIGUOUS) {
    kin__discovery_say_rivals(answer->message, answer->word, &answer->found);
  } else {
    kin__discovery_say_unknown(answer->message, answer->word, &answer->near,
                               &table->table);
  }
  if (code == KIN_ENOENT && table->table.is_late) {
    failure.code = KIN_ETIMEDOUT; /* the versions that are named may have it */
    failure.error_class = KIN_CLASS_PROTOCOL;
  }
  give_result(find, answer, &failure);
}

static void look_up(kin_discovery *find, find_answer *answer) {
  static const kin__load_failure none = {.code = 0};
  resource_table *table = table_of(find->member.host);
  if (!table->has_table) {
    give_result(find, answer, &table->failure);
    return;
  }
  if (is_of_all(find)) {
    answer_all(find, table, answer);
    return;
  }
  int err = kin__lookup(&answer->found, &table->table, &find->word);
  if (err == 0) {
    give_result(find, answer, &none);
  } else if (err == KIN_ENOENT && may_reload(find, table)) {
    kin__found_finish(&answer->found);
    wait_for_load(find, table);
  } else {
    answer_unknown(find, table, answer, err);
  }
}

static void find_step(kin__deferred *deferred) {
  kin_discovery *find = KIN__CONTAINER_OF(deferred, kin_discovery, step);
  find_answer answer;
  answer_begin(&answer, find);
  if (find->state == FIND_ENDED) {
    give_result(find, &answer, &find->failure);
  } else {
    look_up(find, &answer);
  }
}

int kin_discovery_cancel(kin_discovery *discovery, int code) {
  if (discovery == NULL || code >= 0) {
    return KIN_EINVAL;
  }
  if (discovery->state == FIND_ENDED) {
    return KIN_EALREADY;
  }
  end_find(discovery, code, "the program has cancelled it");
  return 0;
}

/* --- The start ------------------------------------------------------------ */

static int check_callback(kin__host *host, kin_discovery_cb cb) {
  int err = kin__host_check(host);
  return err != 0 || cb != NULL
             ? err
             : kin__log_problem(host->env->log, KIN_EINVAL, "cb: is required");
}

static int check_word(const kin__log *log, const char *word) {
  kin__word split;
  const char *reason =
      word == NULL ? "is required" : kin__word_split(&split, kin__cstr(word));
  return reason == NULL ? 0
                        : kin__log_problem(log, KIN_EINVAL, "word: %s", reason);
}

static kin_discovery *make_find(kin__host *host, const char *word,
                                kin_discovery_cb cb, void *data) {
  const kin_allocator *allocator = host->env->allocator;
  kin_discovery *find = kin__calloc(allocator, 1, sizeof *find);
  char *text = kin__strdup(allocator, word);
  if (find == NULL || text == NULL) {
    kin__free(allocator, find);
    kin__free(allocator, text);
    return NULL;
  }
  kin__member_init(&find->member, &find_ops, host->env);
  find->cb = cb;
  find->data = data;
  find->text = text;
  (void)kin__word_split(&find->word, kin__cstr(text));
  kin__link_init(&find->node);
  kin__link_init(&find->step.node);
  find->step.cb = find_step;
  return find;
}

/* `word` is "" for all resources. */
static int begin_find(kin_discovery **out, kin__host *host, const char *word,
                      kin_discovery_cb cb, void *data) {
  int err = host->discovery == NULL ? make_table(host) : 0;
  if (err != 0) {
    return err;
  }
  kin_discovery *find = make_find(host, word, cb, data);
  if (find == NULL) {
    return KIN_ENOMEM;
  }
  resource_table *table = table_of(host);
  kin__member_join(&find->member, host);
  if (needs_load(table)) {
    wait_for_load(find, table);
  } else {
    make_due(find);
  }
  *out = find;
  return 0;
}

int kin__discovery_find(kin_discovery **out, kin__host *host, const char *word,
                        kin_discovery_cb cb, void *data) {
  *out = NULL;
  int err = check_callback(host, cb);
  if (err == 0) {
    err = check_word(host->env->log, word);
  }
  return err == 0 ? begin_find(out, host, word, cb, data) : err;
}

int kin_discovery_find(kin_discovery **out, kin_client *client,
                       const char *word, kin_discovery_cb cb, void *data) {
  kin_discovery *unused;
  return kin__discovery_find(out != NULL ? out : &unused,
                             kin__client_host(client), word, cb, data);
}

int kin__discovery_list(kin_discovery **out, kin__host *host,
                        kin_discovery_versions versions, kin_discovery_cb cb,
                        void *data) {
  *out = NULL;
  int err = check_callback(host, cb);
  if (err == 0 && versions != KIN_DISCOVERY_PREFERRED &&
      versions != KIN_DISCOVERY_ALL_VERSIONS) {
    err = kin__log_problem(host->env->log, KIN_EINVAL,
                           "versions: is no kin_discovery_versions");
  }
  if (err == 0) {
    err = begin_find(out, host, "", cb, data);
  }
  if (err == 0) {
    (*out)->has_all_versions = versions == KIN_DISCOVERY_ALL_VERSIONS;
  }
  return err;
}

int kin_discovery_list(kin_discovery **out, kin_client *client,
                       kin_discovery_versions versions, kin_discovery_cb cb,
                       void *data) {
  kin_discovery *unused;
  return kin__discovery_list(out != NULL ? out : &unused,
                             kin__client_host(client), versions, cb, data);
}

int kin__discovery_on_error(kin__host *host, kin_request_error_cb cb,
                            void *data) {
  int err = kin__host_check(host);
  if (err == 0 && host->discovery == NULL) {
    err = make_table(host);
  }
  if (err == 0) {
    table_of(host)->on_error = cb;
    table_of(host)->on_error_data = data;
  }
  return err;
}

int kin_discovery_on_error(kin_client *client, kin_request_error_cb cb,
                           void *data) {
  return kin__discovery_on_error(kin__client_host(client), cb, data);
}

int kin__discovery_refresh(kin__host *host) {
  int err = kin__host_check(host);
  if (err == 0 && host->discovery != NULL) {
    table_of(host)->is_old = true;
    table_of(host)->is_stale = true;
  }
  return err;
}

int kin_discovery_refresh(kin_client *client) {
  return kin__discovery_refresh(kin__client_host(client));
}
