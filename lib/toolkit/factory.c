/* SPDX-License-Identifier: MIT */
#include "toolkit/factory.h"

#include <stddef.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "informer/informer.h"
#include "toolkit/wait.h"

/* A factory is a list of informers and the options of the next one. Each
 * informer holds its own resource, so the factory stores only the list.
 *
 * The program may close an informer at any time. From then on the factory does
 * not find it. It stays in the list until it is gone, because the factory ends
 * after it.
 *
 * Invariants: every informer of the list exists. The factory ends, in a
 * deferred call, when it is closing and the list is empty. */

#define MAX_INFORMERS KIN__WAIT_MAX
#define MAX_RESYNCS 4096u
#define NAMESPACE_POINTER "/metadata/namespace"

typedef struct entry {
  kin__link node;
  kin__gone_watch watch;
  kin_factory *factory;
  kin_informer *informer;
  kin_informer_id *id; /* NULL if the factory has no name */
} entry;

struct kin_factory {
  kin__member member;
  kin_factory_options options; /* its pointers are to the fields below */
  const char **namespaces;
  kin_factory_resync *resyncs;
  char *strings; /* holds both */
  kin__link entries;
  size_t entry_count;
};

static entry *entry_of(kin__link *node) {
  return KIN__CONTAINER_OF(node, entry, node);
}

/* User code that runs meanwhile (a source) can only add to the list: an
 * informer leaves the list in a deferred call. */
#define FOR_EACH(node, factory)                                                \
  for (kin__link *node = (factory)->entries.next; node != &(factory)->entries; \
       node = node->next)

/* --- Close ---------------------------------------------------------------- */

static void free_factory(kin_factory *factory) {
  const kin_allocator *allocator = factory->member.env->allocator;
  kin_informer_name_unref(factory->options.name);
  kin__free(allocator, factory->namespaces);
  kin__free(allocator, factory->resyncs);
  kin__free(allocator, factory->strings);
  kin__free(allocator, factory);
}

static void on_free(kin__member *member) {
  kin_factory *factory = KIN__CONTAINER_OF(member, kin_factory, member);
  kin_informer_name_release(factory->options.name);
  free_factory(factory);
}

static void end_when_empty(kin_factory *factory) {
  if (factory->member.is_closing && factory->entry_count == 0) {
    kin__member_end(&factory->member);
  }
}

static void free_entry(entry *e) {
  kin_informer_id_free(e->id);
  kin__free(e->factory->member.env->allocator, e);
}

static void on_informer_gone(kin__gone_watch *watch) {
  entry *e = KIN__CONTAINER_OF(watch, entry, watch);
  kin_factory *factory = e->factory;
  kin__link_remove(&e->node);
  factory->entry_count--;
  free_entry(e);
  end_when_empty(factory);
}

static void on_close(kin__member *member) {
  kin_factory *factory = KIN__CONTAINER_OF(member, kin_factory, member);
  FOR_EACH(node, factory) {
    /* An informer that is closing already is fine. */
    (void)kin_informer_close(entry_of(node)->informer, NULL, NULL);
  }
  end_when_empty(factory);
}

static const kin__member_ops member_ops = {.close = on_close, .free = on_free};

int kin_factory_close(kin_factory *factory, kin_factory_close_cb cb,
                      void *data) {
  return factory != NULL ? kin__member_close(&factory->member, cb, data)
                         : KIN_EINVAL;
}

/* --- Open ----------------------------------------------------------------- */

static int check_options(const kin_factory_options *options,
                         const kin__log *log) {
  if (options->resync_count > MAX_RESYNCS) {
    return kin__log_problem(log, KIN_ETOOBIG, "resyncs: %zu are more than %u",
                            options->resync_count, (unsigned)MAX_RESYNCS);
  }
  int err =
      kin__namespaces_check(options->namespaces, options->namespace_count, log);
  if (err != 0) {
    return err;
  }
  if (options->resync_count > 0 && options->resyncs == NULL) {
    return kin__log_problem(log, KIN_EINVAL, "resyncs: is NULL");
  }
  for (size_t i = 0; i < options->resync_count; i++) {
    const kin_factory_resync *resync = &options->resyncs[i];
    const char *group = kin__or_default(resync->group, "");
    if (resync->plural == NULL || !kin__segment_is_valid(resync->plural) ||
        !kin__segment_is_valid(kin__or_default(resync->version, "v1")) ||
        (group[0] != '\0' && !kin__segment_is_valid(group))) {
      return kin__log_problem(log, KIN_EINVAL, "resyncs[%zu] names no resource",
                              i);
    }
  }
  return 0;
}

static size_t measure_strings(const kin_factory_options *options) {
  size_t total = 1;
  for (size_t i = 0; i < options->namespace_count; i++) {
    total += strlen(options->namespaces[i]) + 1;
  }
  for (size_t i = 0; i < options->resync_count; i++) {
    const kin_factory_resync *resync = &options->resyncs[i];
    total += strlen(kin__or_default(resync->group, "")) + 1;
    total += strlen(kin__or_default(resync->version, "v1")) + 1;
    total += strlen(resync->plural) + 1;
  }
  return total;
}

/* Appends a copy of `s` to the block at *next. */
static const char *put(char **next, const char *s) {
  size_t size = strlen(s) + 1;
  const char *copy = memcpy(*next, s, size);
  *next += size;
  return copy;
}

static int copy_options(kin_factory *factory,
                        const kin_factory_options *options) {
  const kin_allocator *allocator = factory->member.env->allocator;
  factory->options = *options;
  factory->options.name = kin_informer_name_ref(options->name);
  factory->namespaces = kin__calloc(allocator, options->namespace_count,
                                    sizeof *factory->namespaces);
  factory->resyncs =
      kin__calloc(allocator, options->resync_count, sizeof *factory->resyncs);
  factory->strings = kin__malloc(allocator, measure_strings(options));
  if (factory->namespaces == NULL || factory->resyncs == NULL ||
      factory->strings == NULL) {
    return KIN_ENOMEM;
  }
  char *next = factory->strings;
  for (size_t i = 0; i < options->namespace_count; i++) {
    factory->namespaces[i] = put(&next, options->namespaces[i]);
  }
  for (size_t i = 0; i < options->resync_count; i++) {
    const kin_factory_resync *resync = &options->resyncs[i];
    factory->resyncs[i] = (kin_factory_resync){
        .group = put(&next, kin__or_default(resync->group, "")),
        .version = put(&next, kin__or_default(resync->version, "v1")),
        .plural = put(&next, resync->plural),
        .resync_ms = resync->resync_ms};
  }
  factory->options.namespaces = factory->namespaces;
  factory->options.resyncs = factory->resyncs;
  return 0;
}

int kin__factory_open(kin_factory **out, kin__host *host,
                      const kin_factory_options *options) {
  *out = NULL;
  int err = kin__host_check(host);
  if (err == 0) {
    err = check_options(options, host->env->log);
  }
  if (err != 0) {
    return err;
  }
  kin_factory *factory = kin__calloc(host->env->allocator, 1, sizeof *factory);
  if (factory == NULL) {
    return KIN_ENOMEM;
  }
  kin__member_init(&factory->member, &member_ops, host->env);
  factory->member.on_closed = options->on_closed;
  factory->member.data = options->data;
  err = copy_options(factory, options);
  if (err != 0) {
    free_factory(factory);
    return err;
  }
  kin__link_init(&factory->entries);
  kin__member_join(&factory->member, host);
  *out = factory;
  return 0;
}

int kin_factory_open(kin_factory **out, kin_client *client,
                     const kin_factory_options *options) {
  kin__host *host = kin__client_host(client);
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (host == NULL) {
    return KIN_EINVAL;
  }
  kin_factory_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_factory_options),
                              "kin_factory_options", host->env->log);
  return err == 0 ? kin__factory_open(out, host, &copy) : err;
}

/* --- Informers ------------------------------------------------------------ */

static bool is_of(const kin_informer *informer,
                  const kin_informer_options *options) {
  const kin__resource *resource = &informer->settings.resource;
  return strcmp(resource->plural, options->plural) == 0 &&
         strcmp(resource->version, options->version) == 0 &&
         strcmp(resource->group, options->group) == 0 &&
         resource->metadata_only == options->metadata_only;
}

/* Sets the missing options from the factory's, and lets tweak change them. */
static void complete(const kin_factory *factory,
                     kin_informer_options *options) {
  const kin_factory_options *defaults = &factory->options;
  if (options->namespace_count == 0) {
    options->namespaces = defaults->namespaces;
    options->namespace_count = defaults->namespace_count;
  }
  if (options->on_error == NULL && options->on_state == NULL &&
      options->on_closed == NULL && options->on_mutation == NULL &&
      options->on_max_bytes == NULL && options->data == NULL) {
    options->on_error = defaults->on_error;
    options->on_state = defaults->on_state;
    options->data = defaults->data;
  }
  if (options->transform == NULL) {
    options->transform = defaults->transform;
    options->transform_data = defaults->transform_data;
  }
  if (options->resync_ms == 0) {
    options->resync_ms = defaults->resync_ms;
    for (size_t i = 0; i < defaults->resync_count; i++) {
      const kin_factory_resync *resync = &defaults->resyncs[i];
      if (strcmp(resync->plural, options->plural) == 0 &&
          strcmp(resync->version, options->version) == 0 &&
          strcmp(resync->group, options->group) == 0) {
        options->resync_ms = resync->resync_ms;
        break;
      }
    }
  }
  if (defaults->tweak != NULL) {
    kin_informer_options asked = *options;
    defaults->tweak(options, defaults->data);
    options->size = asked.size;
    options->group = asked.group;
    options->version = asked.version;
    options->plural = asked.plural;
    options->metadata_only = asked.metadata_only;
  }
}

static int add_namespace_index(const kin_factory *factory,
                               const kin_informer_options *options,
                               kin_informer *informer) {
  if (factory->options.no_namespace_index || options->namespace_count == 1) {
    return 0;
  }
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "namespace";
  index.pointer = NAMESPACE_POINTER;
  return kin_store_add_index(kin_informer_store(informer), &index);
}

static void warn_if_not_reserved(const entry *e) {
  if (e->id != NULL && !kin_informer_id_is_reserved(e->id)) {
    char name[KIN__INFORMER_NAME_SIZE];
    kin__informer_name(e->informer, name, sizeof name);
    kin__log_write(e->factory->member.env->log, KIN_LOG_WARN,
                   "%.300s is not the first informer of its resource under the "
                   "name %.100s, or the name was released",
                   name, kin_informer_id_name(e->id));
  }
}

/* Frees the identifiers of closing informers, which publish nothing any
 * more. */
static void free_closed_ids(const kin_factory *factory) {
  FOR_EACH(node, factory) {
    entry *e = entry_of(node);
    if (e->informer->member.is_closing) {
      kin_informer_id_free(e->id);
      e->id = NULL;
    }
  }
}

/* Opens the informer of a new entry. If this fails after the informer was made,
 * the informer is closing, and the entry goes with it. Otherwise the caller
 * owns the entry. */
static int open_informer(entry *e, const kin_informer_options *options) {
  kin_factory *factory = e->factory;
  if (factory->options.name != NULL) {
    free_closed_ids(factory);
    int err = kin_informer_id_new(&e->id, factory->options.name, options->group,
                                  options->version, options->plural);
    if (err != 0) {
      return err;
    }
  }
  int err = kin__informer_open_on(&e->informer, factory->member.host, options);
  if (err != 0) {
    return err;
  }
  kin__link_push(&factory->entries, &e->node);
  factory->entry_count++;
  e->watch.gone = on_informer_gone;
  kin__link_push(&e->informer->gone_watches, &e->watch.node);
  err = add_namespace_index(factory, options, e->informer);
  if (err != 0) {
    /* The program never saw this informer, so on_closed is not called. */
    e->informer->member.on_closed = NULL;
    (void)kin_informer_close(e->informer, NULL, NULL);
    return err;
  }
  warn_if_not_reserved(e);
  return 0;
}

static int add(kin_factory *factory, kin_informer_options *options,
               kin_informer **out) {
  if (factory->entry_count >= MAX_INFORMERS) {
    return kin__log_problem(factory->member.env->log, KIN_ETOOBIG,
                            "a factory has %u informers at most",
                            MAX_INFORMERS);
  }
  const kin_allocator *allocator = factory->member.env->allocator;
  entry *e = kin__calloc(allocator, 1, sizeof *e);
  if (e == NULL) {
    return KIN_ENOMEM;
  }
  e->factory = factory;
  complete(factory, options);
  int err = open_informer(e, options);
  if (err == 0) {
    *out = e->informer;
  } else if (e->informer == NULL) {
    free_entry(e);
  }
  return err;
}

int kin_factory_informer_with(kin_factory *factory,
                              const kin_informer_options *options,
                              kin_informer **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (factory == NULL) {
    return KIN_EINVAL;
  }
  kin_informer_options o;
  const kin__log *log = factory->member.env->log;
  kin__log_no_problem(log);
  int err = kin__options_take(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_informer_options),
                              "kin_informer_options", log);
  if (err == 0 && factory->member.is_closing) {
    err = KIN_ECLOSED;
  }
  if (err == 0 && o.plural == NULL) {
    err = kin__log_problem(log, KIN_EINVAL, "plural: is NULL");
  }
  if (err != 0) {
    return err;
  }
  o.group = kin__or_default(o.group, "");
  o.version = kin__or_default(o.version, "v1");
  FOR_EACH(node, factory) {
    kin_informer *informer = entry_of(node)->informer;
    if (!informer->member.is_closing && is_of(informer, &o)) {
      *out = informer;
      return 0;
    }
  }
  return add(factory, &o, out);
}

int kin_factory_informer(kin_factory *factory, const char *group,
                         const char *version, const char *plural,
                         kin_informer **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (factory == NULL) {
    return KIN_EINVAL;
  }
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.group = group;
  options.version = version;
  options.plural = plural;
  options.metadata_only = factory->options.metadata_only;
  return kin_factory_informer_with(factory, &options, out);
}

const kin_informer_id *kin_factory_informer_id(const kin_factory *factory,
                                               const kin_informer *informer) {
  if (factory == NULL || informer == NULL) {
    return NULL;
  }
  FOR_EACH(node, factory) {
    if (entry_of(node)->informer == informer) {
      return entry_of(node)->id;
    }
  }
  return NULL;
}

/* --- All of them ---------------------------------------------------------- */

int kin_factory_start(kin_factory *factory) {
  if (factory == NULL) {
    return KIN_EINVAL;
  }
  if (factory->member.is_closing) {
    return KIN_ECLOSED;
  }
  FOR_EACH(node, factory) {
    /* Fails if the informer was started before or is closed: nothing to do. */
    (void)kin_informer_start(entry_of(node)->informer);
  }
  return 0;
}

int kin_factory_wait(kin_factory *factory, uint64_t timeout_ms, kin_wait_cb cb,
                     void *data, kin_wait **out) {
  if (out != NULL) {
    *out = NULL;
  }
  if (factory == NULL) {
    return KIN_EINVAL;
  }
  kin__log_no_problem(factory->member.env->log);
  if (factory->member.is_closing) {
    return KIN_ECLOSED;
  }
  const kin_allocator *allocator = factory->member.env->allocator;
  kin_wait_for *things =
      kin__calloc(allocator, factory->entry_count, sizeof *things);
  if (things == NULL) {
    return KIN_ENOMEM;
  }
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  options.things = things;
  options.timeout_ms = timeout_ms;
  options.cb = cb;
  options.data = data;
  FOR_EACH(node, factory) {
    kin_informer *informer = entry_of(node)->informer;
    if (informer->is_started && !informer->member.is_closing) {
      things[options.count++].informer = informer;
    }
  }
  kin_wait *wait;
  int err = kin__wait_open(&wait, factory->member.host, &options,
                           "failed to sync all caches");
  kin__free(allocator, things);
  if (out != NULL) {
    *out = wait;
  }
  return err;
}
