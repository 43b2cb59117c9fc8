/* SPDX-License-Identifier: MIT */
/* What looking for writes to cached objects costs: making an object, comparing
 * it, letting it go, and its memory, with the check off, with checksums, and
 * protected. Prints `name value unit` lines.
 *
 * Objects are of 1 KB and 5 KB. They are made by the library's own function, as
 * by a decoder, and compared one after the other in the order of their making,
 * so a count that is larger than the processor's caches shows the memory's
 * speed. Memory is the growth of the process (VmRSS), without pages the program
 * had before.
 *
 * Not measured: the loop, handlers.
 *
 * usage: bench_mutation [OBJECTS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/memory.h"
#include "base/str.h"
#include "measure.h"
#include "object/object.h"
#include "object/seal.h"

static void check(int err) {
  if (err != 0) {
    fprintf(stderr, "bench_mutation: %s\n", kin_strerror(err));
    exit(1);
  }
}

static kin_object *make(kin__memory *memory, const char *body, size_t size,
                        size_t i) {
  char name[32];
  snprintf(name, sizeof name, "pod-%zu", i);
  kin__object_parts parts = {.namespace_ = KIN__LIT("default"),
                             .name = kin__cstr(name),
                             .body = kin__str(body, size)};
  kin_object *object = NULL;
  check(kin__object_new(&object, memory, &parts));
  return object;
}

typedef struct run {
  const char *check_name;
  size_t size;
  size_t count;
} run;

static void report(const run *r, const char *name, double value,
                   const char *unit) {
  printf("mutation.%s.%zu.%s %.1f %s\n", r->check_name, r->size, name, value,
         unit);
}

static void report_since(const run *r, const char *name, uint64_t since_ns) {
  report(r, name, (double)(wall_ns() - since_ns) / (double)r->count, "ns");
}

/* Returns the number of protected objects. */
static size_t compare_all(const run *r, kin_object *const *objects) {
  size_t protected_count = 0;
  uint64_t since = wall_ns();
  for (size_t i = 0; i < r->count; i++) {
    const kin__seal *seal = kin__object_seal(objects[i]);
    size_t block = 0;
    if (seal->sums == NULL) {
      protected_count++;
    } else if (kin__object_compare(objects[i], seal->sums, &block, SIZE_MAX) !=
               KIN__SAME) {
      check(KIN_EINVAL);
    }
  }
  report_since(r, "compare", since);
  return protected_count;
}

static void measure(kin_mutation_check how, const run *r) {
  kin__memory *memory = kin__memory_new(NULL);
  kin_object **objects = calloc(r->count, sizeof *objects);
  char *body = malloc(r->size);
  check(memory != NULL && objects != NULL && body != NULL ? 0 : KIN_ENOMEM);
  memset(body, 'x', r->size);
  if (how == KIN_MUTATION_CHECK_OFF) {
    check(kin__memory_use_slabs(memory));
  } else {
    kin__memory_use_seals(memory, how);
  }
  uint64_t before = memory_bytes("VmRSS:");
  uint64_t since = wall_ns();
  for (size_t i = 0; i < r->count; i++) {
    objects[i] = make(memory, body, r->size, i);
  }
  report_since(r, "make", since);
  report(r, "memory",
         (double)(memory_bytes("VmRSS:") - before) / (double)r->count, "bytes");
  if (how != KIN_MUTATION_CHECK_OFF) {
    report(r, "protected", (double)compare_all(r, objects), "objects");
  }
  since = wall_ns();
  for (size_t i = 0; i < r->count; i++) {
    kin_object_unref(objects[i]);
  }
  report_since(r, "free", since);
  kin__memory_unref(memory);
  free(objects);
  free(body);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"off", "checksum", "protect"};
  static const size_t sizes[] = {1024, 5400};
  size_t count =
      argc > 1 ? number_argument("bench_mutation", "OBJECTS", argv[1]) : 100000;
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    for (int how = 0; how <= KIN_MUTATION_CHECK_PROTECT; how++) {
      run r = {names[how], sizes[s], count};
      measure((kin_mutation_check)how, &r);
    }
  }
  return 0;
}
