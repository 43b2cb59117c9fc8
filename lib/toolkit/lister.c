/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/key.h>
#include <kin/lister.h>

#include "base/alloc.h"
#include "base/str.h"
#include "store/index.h"
#include "store/store.h"

kin_lister kin_lister_of(const kin_store *store) {
  return (kin_lister){store, {NULL, 0}};
}

kin_lister kin_lister_in(kin_lister lister, kin_str namespace_) {
  lister.namespace_ = kin__str_given(namespace_);
  return lister;
}

/* The key of a name in a namespace, in `buffer` if it fits. The caller frees
 * *spare. */
static int make_key(const kin_lister *lister, kin_str name, char *buffer,
                    char **spare, kin_str *key) {
  int err = kin_key_make(buffer, KIN_KEY_SIZE, lister->namespace_, name, key);
  if (err != KIN_ETOOBIG) {
    return err;
  }
  size_t size = lister->namespace_.length + name.length + 2;
  *spare = kin__malloc(lister->store->allocator, size);
  return *spare != NULL
             ? kin_key_make(*spare, size, lister->namespace_, name, key)
             : KIN_ENOMEM;
}

int kin_lister_get(const kin_lister *lister, kin_str name,
                   const kin_object **object) {
  if (object == NULL) {
    return KIN_EINVAL;
  }
  name = kin__str_given(name);
  *object = NULL;
  if (lister == NULL || lister->store == NULL) {
    return KIN_EINVAL;
  }
  char buffer[KIN_KEY_SIZE];
  char *spare = NULL;
  kin_str key = name;
  int err = kin__str_given(lister->namespace_).length > 0
                ? make_key(lister, name, buffer, &spare, &key)
                : kin_key_split(name, NULL, NULL);
  if (err == 0) {
    *object = kin_store_get(lister->store, key);
    err = *object != NULL ? 0 : KIN_ENOENT;
  }
  kin__free(lister->store->allocator, spare);
  return err;
}

static const kin__index *namespace_index(const kin_store *store) {
  const kin__index *index = store->indices;
  while (index != NULL && (index->source.kind != KIN__INDEX_NAMESPACE ||
                           index->built != KIN__NO_SLOT)) {
    index = index->next;
  }
  return index;
}

kin_lister_scan kin_lister_list(const kin_lister *lister,
                                const kin_selector *selector) {
  if (lister == NULL || lister->store == NULL) {
    return (kin_lister_scan){.is_over = true};
  }
  kin_lister_scan scan = {.lister = *lister, .selector = selector};
  scan.lister.namespace_ = kin__str_given(lister->namespace_);
  scan.is_over = kin_selector_is_nothing(selector);
  if (scan.lister.namespace_.length > 0 && !scan.is_over) {
    const kin__index *index = namespace_index(lister->store);
    scan.uses_index =
        index != NULL &&
        kin_store_by_index(lister->store, index->name, scan.lister.namespace_,
                           &scan.found) == 0;
  }
  return scan;
}

static bool is_inside(const kin_lister *lister, const kin_object *object) {
  kin_str namespace_ = kin__str_given(lister->namespace_);
  return namespace_.length == 0 ||
         kin_str_equal(kin_object_namespace(object), namespace_);
}

static bool is_asked_for(const kin_lister_scan *scan,
                         const kin_object *object) {
  return (scan->uses_index || is_inside(&scan->lister, object)) &&
         kin_selector_matches(scan->selector, object);
}

const kin_object *kin_lister_next(kin_lister_scan *scan) {
  if (scan == NULL) {
    return NULL;
  }
  const kin_store *store = scan->lister.store;
  while (!scan->is_over) {
    const kin_object *object =
        scan->uses_index ? kin_store_by_index_next(store, &scan->found)
                         : kin_store_next(store, &scan->cursor);
    if (object == NULL) {
      scan->is_over = true;
    } else if (is_asked_for(scan, object)) {
      return object;
    }
  }
  return NULL;
}

/* The next object of the lister, or NULL. */
static const kin_object *next_found(const kin_lister *lister,
                                    kin_index_cursor *cursor) {
  const kin_object *object;
  do {
    object = kin_store_by_index_next(lister->store, cursor);
  } while (object != NULL && !is_inside(lister, object));
  return object;
}

static int begin_find(const kin_lister *lister, const char *index,
                      kin_str value, kin_index_cursor *cursor) {
  return lister != NULL && lister->store != NULL && index != NULL &&
                 kin_store_by_index(lister->store, index, kin__str_given(value),
                                    cursor) == 0
             ? 0
             : KIN_EINVAL;
}

int kin_lister_find(const kin_lister *lister, const char *index, kin_str value,
                    const kin_object **object) {
  if (object == NULL) {
    return KIN_EINVAL;
  }
  *object = NULL;
  kin_index_cursor cursor;
  int err = begin_find(lister, index, value, &cursor);
  if (err == 0) {
    *object = next_found(lister, &cursor);
    err = *object != NULL ? 0 : KIN_ENOENT;
  }
  return err;
}

int kin_lister_find_all(const kin_lister *lister, const char *index,
                        kin_str value, const kin_object **objects, size_t size,
                        size_t *count) {
  if (count == NULL || (objects == NULL && size > 0)) {
    return KIN_EINVAL;
  }
  *count = 0;
  kin_index_cursor cursor;
  int err = begin_find(lister, index, value, &cursor);
  if (err != 0) {
    return err;
  }
  const kin_object *object;
  while ((object = next_found(lister, &cursor)) != NULL) {
    if (*count < size) {
      objects[*count] = object;
    }
    ++*count;
  }
  return 0;
}
