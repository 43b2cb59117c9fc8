/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/push_store.h>

#include "base/first_size.h"
#include "base/options.h"
#include "object/object_list.h"
#include "store/store.h"

/* One list is kept and filled for each push. Room in it is taken before a
 * change, so every change that is made can be pushed. */

struct kin_push_store {
  kin_store store;        /* first member, see kin__store_new_handle */
  kin__object_list *list; /* empty but during a push */
  kin_push_cb push;
  void *data;
  bool is_pushing;
};

int kin_push_store_new(kin_push_store **out,
                       const kin_push_store_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_push_store_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_push_store_options));
  if (err == 0 && o.push == NULL) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  kin_push_store *store = kin__store_new_handle(o.allocator, sizeof *store);
  if (store == NULL) {
    return KIN_ENOMEM;
  }
  store->list = kin__object_list_new(store->store.allocator, 0);
  if (store->list == NULL) {
    kin__store_free_handle(&store->store);
    return KIN_ENOMEM;
  }
  store->push = o.push;
  store->data = o.data;
  *out = store;
  return 0;
}

void kin_push_store_free(kin_push_store *store) {
  if (store == NULL) {
    return;
  }
  kin_object_list_free(&store->list->list);
  kin__store_free_handle(&store->store);
}

/* Call it before a change that may leave `count` objects. */
static int begin(kin_push_store *store, size_t count) {
  return store->is_pushing ? KIN_EALREADY
                           : kin__object_list_reserve(store->list, count);
}

/* Pushes, if there was no error. */
static int end(kin_push_store *store, int err) {
  if (err != 0) {
    return err;
  }
  err = kin__store_fill_list(&store->store, store->list);
  assert(err == 0);
  store->is_pushing = true;
  store->push(&store->list->list, store->data);
  store->is_pushing = false;
  kin__object_list_clear(store->list);
  return err;
}

int kin_push_store_put(kin_push_store *store, const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  int err = begin(store, kin_store_count(&store->store) + 1);
  return end(store, err == 0 ? kin_store_put(&store->store, object) : err);
}

int kin_push_store_delete(kin_push_store *store, kin_str key) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  int err = begin(store, kin_store_count(&store->store));
  return end(store, err == 0 ? kin_store_delete(&store->store, key) : err);
}

int kin_push_store_delete_object(kin_push_store *store,
                                 const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  int err = begin(store, kin_store_count(&store->store));
  return end(store,
             err == 0 ? kin_store_delete_object(&store->store, object) : err);
}

int kin_push_store_replace(kin_push_store *store,
                           const kin_object *const *objects, size_t count,
                           kin_str version) {
  if (store == NULL || (objects == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  int err = begin(store, count);
  return end(store, err == 0 ? kin_store_replace(&store->store, objects, count,
                                                 version)
                             : err);
}

const kin_store *kin_push_store_content(const kin_push_store *store) {
  return store != NULL ? &store->store : NULL;
}
