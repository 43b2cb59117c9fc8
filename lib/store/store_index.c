/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>

#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "store/index.h"
#include "store/store.h"

/* The indices of a store: adding, building and reading them. A build counts
 * through the slots. An object that is put into a slot behind the count is
 * indexed at once; the build will meet those ahead. */

#define SLOTS_PER_STEP 256u

/* *ordinal, unless NULL, gets the index's place in the list. */
static kin__index *find_index(const kin_store *store, const char *name,
                              uint32_t *ordinal) {
  uint32_t at = 0;
  kin__index *index = store->indices;
  while (name != NULL && index != NULL && strcmp(index->name, name) != 0) {
    index = index->next;
    at++;
  }
  if (ordinal != NULL) {
    *ordinal = at;
  }
  return name != NULL ? index : NULL;
}

const kin__index *kin__store_index(const kin_store *store, const char *name) {
  return find_index(store, name, NULL);
}

int kin__store_visit(const kin_store *store, const kin__index *index,
                     const kin_object *object,
                     int (*visit)(void *ctx, kin_str value), void *ctx) {
  kin_store *own = (kin_store *)store;
  bool was_indexing = own->is_indexing;
  own->is_indexing = true;
  int err = kin__index_visit(index, object, visit, ctx);
  own->is_indexing = was_indexing;
  return err;
}

/* Indexes the slots from `built` on, at most `*count` of them, and reduces
 * *count. */
static int build(kin_store *store, kin__index *index, uint32_t *count) {
  uint32_t limit = kin__slots_limit(&store->slots);
  for (; index->built<limit && * count> 0; (*count)--) {
    const kin_object *object = kin__store_at(store, index->built)->object;
    if (object != NULL) {
      kin__index_reader reader;
      kin__index_reader_init(&reader, object, NULL);
      store->is_indexing = true;
      int err = kin__index_prepare(index, index->built, &reader);
      store->is_indexing = false;
      kin__index_reader_finish(&reader);
      if (err != 0) {
        return err;
      }
      kin__index_commit(index, index->built);
    }
    index->built++;
  }
  if (index->built >= limit) {
    index->built = KIN__NO_SLOT;
  }
  return 0;
}

bool kin__store_index_step(kin_store *store, uint32_t count, int *err) {
  *err = 0;
  bool has_more = false;
  for (kin__index *i = store->indices; i != NULL; i = i->next) {
    if (i->built == KIN__NO_SLOT) {
      continue;
    }
    int failure = build(store, i, &count);
    if (*err == 0) {
      *err = failure;
    }
    has_more = has_more || i->built != KIN__NO_SLOT;
  }
  return has_more;
}

bool kin__store_index_slice(kin_store *store, const kin__sched *sched,
                            int *err) {
  bool has_more = true;
  *err = 0;
  kin__slice slice = kin__slice_begin(sched, SLOTS_PER_STEP);
  while (has_more && *err == 0 && kin__slice_next(&slice)) {
    has_more = kin__store_index_step(store, 1, err);
  }
  return has_more;
}

static void append(kin_store *store, kin__index *index) {
  kin__index **link = &store->indices;
  while (*link != NULL) {
    link = &(*link)->next;
  }
  *link = index;
}

/* Why kin__index_new has refused the options. */
static int refuse(const kin_index_options *options, const kin__log *log) {
  if (!kin__has_text(options->name)) {
    return kin__log_problem(log, KIN_EINVAL, "name: is required");
  }
  return options->pointer == NULL || options->cb != NULL
             ? kin__log_problem(log, KIN_EINVAL,
                                "pointer, cb: exactly one is required")
             : kin__log_problem(log, KIN_EINVAL,
                                "pointer: \"%.80s\" is no JSON Pointer of up "
                                "to 64 tokens, such as \"/spec/nodeName\"",
                                options->pointer);
}

int kin_store_add_index(kin_store *store, const kin_index_options *options) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  const kin__store_owner *owner = store->owner;
  const kin__log *log = owner != NULL ? owner->log(store->owner_ctx) : NULL;
  kin__log_no_problem(log);
  kin_index_options o;
  int err = kin__options_take(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_index_options),
                              "kin_index_options", log);
  if (err != 0) {
    return err;
  }
  if (store->index_refusal != 0) {
    return store->index_refusal;
  }
  if (store->is_indexing) {
    return KIN_EALREADY;
  }
  if (find_index(store, o.name, NULL) != NULL) {
    return KIN_EEXIST;
  }
  kin__index *index;
  err = kin__index_new(&index, store->memory, store->seed, &o,
                       !store->has_no_labels);
  if (err != 0) {
    return err == KIN_EINVAL ? refuse(&o, log) : err;
  }
  bool is_owned = store->is_managed || store->is_indexed_in_steps;
  index->is_tolerant = is_owned;
  /* The index of an empty store is ready at once, also in an informer's
   * store. */
  uint32_t count = is_owned ? 0 : UINT32_MAX;
  err = build(store, index, &count);
  if (err == 0) {
    err =
        kin__index_source_join(&index->source, store->allocator, &store->pass);
  }
  if (err != 0) {
    kin__index_free(index);
    return err;
  }
  append(store, index);
  if (index->built != KIN__NO_SLOT && owner != NULL) {
    owner->index_added(store->owner_ctx);
  }
  return 0;
}

bool kin_store_index_ready(const kin_store *store, const char *name) {
  if (store == NULL || name == NULL) {
    return false;
  }
  const kin__index *index = find_index(store, name, NULL);
  return index != NULL && index->built == KIN__NO_SLOT;
}

const char *kin_store_next_index(const kin_store *store, kin_cursor *cursor) {
  if (store == NULL || cursor == NULL) {
    return NULL;
  }
  const kin__index *index = store->indices;
  for (uint32_t i = 0; i < cursor->next && index != NULL; i++) {
    index = index->next;
  }
  if (index == NULL) {
    return NULL;
  }
  cursor->next++;
  return index->name;
}

int kin_store_by_index(const kin_store *store, const char *name, kin_str value,
                       kin_index_cursor *cursor) {
  if (store == NULL || name == NULL || cursor == NULL) {
    return KIN_EINVAL;
  }
  value = kin__str_given(value);
  *cursor = (kin_index_cursor){.posting = KIN__NO_SLOT};
  const kin__index *index = find_index(store, name, &cursor->index);
  if (index == NULL) {
    return KIN_ENOENT;
  }
  const kin__index_value *found = kin__index_find(index, value);
  if (found != NULL) {
    cursor->posting = found->first;
  }
  return 0;
}

const kin_object *kin_store_by_index_next(const kin_store *store,
                                          kin_index_cursor *cursor) {
  if (store == NULL || cursor == NULL) {
    return NULL;
  }
  const kin__index *index = store->indices;
  for (uint32_t i = cursor->index; i > 0 && index != NULL; i--) {
    index = index->next;
  }
  const kin__posting *posting =
      index != NULL ? kin__index_posting(index, cursor->posting) : NULL;
  if (posting == NULL) {
    return NULL;
  }
  cursor->posting = posting->head.next;
  return kin__store_at(store, posting->slot)->object;
}

size_t kin_store_index_count(const kin_store *store, const char *name,
                             kin_str value) {
  if (store == NULL || name == NULL) {
    return 0;
  }
  value = kin__str_given(value);
  const kin__index *index = find_index(store, name, NULL);
  const kin__index_value *found =
      index != NULL ? kin__index_find(index, value) : NULL;
  return found != NULL ? found->count : 0;
}

bool kin_store_index_next_value(const kin_store *store, const char *name,
                                kin_cursor *cursor, kin_str *value) {
  if (store == NULL || name == NULL || cursor == NULL || value == NULL) {
    return false;
  }
  const kin__index *index = find_index(store, name, NULL);
  return index != NULL && kin__index_next_value(index, &cursor->next, value);
}
