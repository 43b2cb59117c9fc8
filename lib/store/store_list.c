/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "base/str.h"
#include "object/object_list.h"
#include "store/index.h"
#include "store/store.h"

/* Results that are lists: copies, which later changes of the store do not
 * affect. */

int kin__store_fill_list(const kin_store *store, kin__object_list *list) {
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    int err = kin__object_list_add(list, object);
    if (err != 0) {
      return err;
    }
  }
  return 0;
}

/* The end of each function that returns a list. */
static int hand_out(kin_object_list **out, kin__object_list *list, int err) {
  if (err != 0) {
    kin_object_list_free(&list->list);
    return err;
  }
  *out = &list->list;
  return 0;
}

int kin_store_list(const kin_store *store, kin_object_list **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (store == NULL) {
    return KIN_EINVAL;
  }
  kin__object_list *list =
      kin__object_list_new(store->allocator, kin_store_count(store));
  if (list == NULL) {
    return KIN_ENOMEM;
  }
  return hand_out(out, list, kin__store_fill_list(store, list));
}

/* The state of a look-up by an object's values. */
typedef struct lookup {
  const kin_store *store;
  const kin__index *index;
  kin__object_list *list;
} lookup;

static int add_found(void *ctx, kin_str value) {
  lookup *l = ctx;
  const kin__index_value *found = kin__index_find(l->index, value);
  uint32_t id = found != NULL ? found->first : KIN__NO_SLOT;
  const kin__posting *posting;
  while ((posting = kin__index_posting(l->index, id)) != NULL) {
    int err = kin__object_list_add(
        l->list, kin__store_at(l->store, posting->slot)->object);
    if (err != 0) {
      return err;
    }
    id = posting->head.next;
  }
  return 0;
}

static int begin(lookup *l, const kin_store *store, const char *name) {
  *l = (lookup){store, kin__store_index(store, name), NULL};
  if (l->index == NULL) {
    return KIN_ENOENT;
  }
  l->list = kin__object_list_new(store->allocator, 0);
  return l->list != NULL ? 0 : KIN_ENOMEM;
}

int kin_store_list_by_index(const kin_store *store, const char *name,
                            kin_str value, kin_object_list **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  value = kin__str_given(value);
  *out = NULL;
  if (store == NULL || name == NULL) {
    return KIN_EINVAL;
  }
  lookup l;
  int err = begin(&l, store, name);
  if (err != 0) {
    return err;
  }
  err = add_found(&l, value);
  kin__object_list_sort(l.list);
  return hand_out(out, l.list, err);
}

int kin_store_list_like(const kin_store *store, const char *name,
                        const kin_object *object, kin_object_list **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (store == NULL || name == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  lookup l;
  int err = begin(&l, store, name);
  if (err != 0) {
    return err;
  }
  err = kin__store_visit(store, l.index, object, add_found, &l);
  kin__object_list_sort(l.list);
  return hand_out(out, l.list, err);
}
