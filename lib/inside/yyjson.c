/* SPDX-License-Identifier: MIT */

/* yyjson's functions for a shared library that can hold no archive of yyjson,
 * as on Debian, which packages none. A host that exports a yyjson of its own
 * does not get the calls of lib/object/json.c: they stay inside, because the
 * version script hides these functions. Each passes its arguments on to the
 * function of the libyyjson that the shared library needs. dlsym with a handle
 * searches that library first, whatever the host exports.
 *
 * Only what json.c calls is here. test/check/check_inside.py fails if a call
 * of another function leaves the shared library. None of these functions calls
 * another exported function of yyjson, which a host could replace.
 *
 * Without the library no function works: kin_client_open refuses release 0.0.0,
 * and a store that a program uses without a client gets errors. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include <yyjson.h>

static struct {
  __typeof__(&yyjson_version) version;
  __typeof__(&yyjson_read_opts) read;
  __typeof__(&yyjson_read_number) read_number;
  __typeof__(&yyjson_val_write_opts) write;
  __typeof__(&yyjson_alc_pool_init) pool;
  __typeof__(&unsafe_yyjson_ptr_getx) at;
} yyjson;

static bool find(void *library, const char *name, void *function) {
  void *found = library != NULL ? dlsym(library, name) : NULL;
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

/* All functions, or none. The handle is never closed. */
static void bind_yyjson(const char *file) {
  int flags = RTLD_NOW | RTLD_LOCAL;
  void *library = dlopen(file, flags | RTLD_NOLOAD);
  if (library == NULL) {
    library = dlopen(file, flags);
  }
  if (!find(library, "yyjson_version", &yyjson.version) ||
      !find(library, "yyjson_read_opts", &yyjson.read) ||
      !find(library, "yyjson_read_number", &yyjson.read_number) ||
      !find(library, "yyjson_val_write_opts", &yyjson.write) ||
      !find(library, "yyjson_alc_pool_init", &yyjson.pool) ||
      !find(library, "unsafe_yyjson_ptr_getx", &yyjson.at)) {
    memset(&yyjson, 0, sizeof yyjson);
  }
}

/* As part of loading this library, before any of its functions is called. The
 * dynamic linker has loaded libyyjson by then, because this library needs it. */
__attribute__((constructor)) static void bind_at_load(void) {
  bind_yyjson(KIN_YYJSON_SONAME);
}

uint32_t yyjson_version(void) {
  return yyjson.version != NULL ? yyjson.version() : 0;
}

yyjson_doc *yyjson_read_opts(char *text, size_t length, yyjson_read_flag flags,
                             const yyjson_alc *allocator,
                             yyjson_read_err *err) {
  if (yyjson.read != NULL) {
    return yyjson.read(text, length, flags, allocator, err);
  }
  if (err != NULL) {
    *err = (yyjson_read_err){.code = YYJSON_READ_ERROR_MEMORY_ALLOCATION,
                             .msg = "no yyjson"};
  }
  return NULL;
}

const char *yyjson_read_number(const char *text, yyjson_val *value,
                               yyjson_read_flag flags,
                               const yyjson_alc *allocator,
                               yyjson_read_err *err) {
  return yyjson.read_number != NULL
             ? yyjson.read_number(text, value, flags, allocator, err)
             : NULL;
}

char *yyjson_val_write_opts(const yyjson_val *value, yyjson_write_flag flags,
                            const yyjson_alc *allocator, size_t *length,
                            yyjson_write_err *err) {
  return yyjson.write != NULL
             ? yyjson.write(value, flags, allocator, length, err)
             : NULL;
}

bool yyjson_alc_pool_init(yyjson_alc *allocator, void *memory, size_t size) {
  return yyjson.pool != NULL && yyjson.pool(allocator, memory, size);
}

yyjson_val *unsafe_yyjson_ptr_getx(yyjson_val *value, const char *pointer,
                                   size_t length, yyjson_ptr_err *err) {
  return yyjson.at != NULL ? yyjson.at(value, pointer, length, err) : NULL;
}
