/* SPDX-License-Identifier: MIT */

/* What a transform costs for each object, on one core: run alone, with the
 * result made and dropped, as an informer runs it between decoder and queue.
 *
 * bench_transform [ROUNDS]
 *
 * prints lines `name value unit`, the best of all rounds. The objects are 4,000
 * pods of 5.4 KB, so they come from the last-level cache at best. `parsed` is
 * what a parsed document would cost: it is read, made mutable, rid of the same
 * three fields and written again. Not measured: decoding and storing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "measure.h"
#include "object/object.h"
#include "object/transform.h"
#include "pod.h"

enum { PODS = 4000, ROUNDS = 20 };

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_transform: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

/* The transforms. */

static int nothing(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)out;
  (void)data;
  return 0;
}

static int remove_three(const kin_object *in, kin_object_builder *out,
                        void *data) {
  (void)in;
  (void)data;
  kin_object_builder_remove(out, "/metadata/annotations");
  kin_object_builder_remove(out, "/spec/containers");
  return kin_object_builder_remove(out, "/status/conditions");
}

static int remove_each(const kin_object *in, kin_object_builder *out,
                       void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/spec/containers/*/env");
}

static int keep_three(const kin_object *in, kin_object_builder *out,
                      void *data) {
  static const char *const kept[] = {"/spec/nodeName", "/status/phase",
                                     "/spec/containers/*/image"};
  (void)in;
  (void)data;
  return kin_object_builder_keep(out, kept, 3);
}

static int set_label(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_set_string(out, "/metadata/labels/seen", "yes");
}

static uint64_t run(kin_object *const *pods, kin_transform_cb cb,
                    kin__memory *memory, size_t *kept) {
  kin__transform transform;
  check(kin__transform_init(&transform, memory, cb, NULL), "builder");
  *kept = 0;
  uint64_t start = thread_cpu_ns();
  for (size_t i = 0; i < PODS; i++) {
    kin_object *made;
    check(kin__transform_run(&transform, pods[i], 0, &made), "transform");
    *kept += kin_object_memory(made);
    kin_object_unref(made);
  }
  uint64_t spent = thread_cpu_ns() - start;
  kin__transform_finish(&transform);
  return spent;
}

static size_t reparse(const kin_object *pod) {
  kin_str body = kin__object_body(pod);
  yyjson_doc *doc = yyjson_read(body.data, body.length, 0);
  yyjson_mut_doc *mutable_ = yyjson_doc_mut_copy(doc, NULL);
  yyjson_mut_doc_ptr_remove(mutable_, "/metadata/annotations");
  yyjson_mut_doc_ptr_remove(mutable_, "/spec/containers");
  yyjson_mut_doc_ptr_remove(mutable_, "/status/conditions");
  size_t length;
  char *written = yyjson_mut_write(mutable_, 0, &length);
  check(written != NULL ? 0 : KIN_EJSON, "parsed");
  free(written);
  yyjson_mut_doc_free(mutable_);
  yyjson_doc_free(doc);
  return length;
}

static uint64_t run_parsed(kin_object *const *pods) {
  size_t sum = 0;
  uint64_t start = thread_cpu_ns();
  for (size_t i = 0; i < PODS; i++) {
    sum += reparse(pods[i]);
  }
  uint64_t spent = thread_cpu_ns() - start;
  check(sum > 0 ? 0 : KIN_EJSON, "parsed");
  return spent;
}

static uint64_t less(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    kin_transform_cb cb;
  } transforms[] = {{"nothing", nothing},
                    {"remove_three", remove_three},
                    {"remove_each", remove_each},
                    {"keep_three", keep_three},
                    {"set_label", set_label}};
  uint64_t rounds =
      argc > 1 ? number_argument("bench_transform", "ROUNDS", argv[1]) : ROUNDS;
  static kin_object *pods[PODS];
  kin__memory *memory = kin__memory_new(NULL);
  check(memory != NULL ? kin__memory_use_slabs(memory) : KIN_ENOMEM, "memory");
  size_t bytes = 0;
  for (unsigned i = 0; i < PODS; i++) {
    pods[i] = bench_pod(i);
    bytes += kin__object_body(pods[i]).length;
  }
  printf("transform.pod_bytes %zu bytes\n", bytes / PODS);
  for (size_t t = 0; t < sizeof transforms / sizeof *transforms; t++) {
    uint64_t best = UINT64_MAX;
    size_t kept = 0;
    for (uint64_t i = 0; i < rounds; i++) {
      best = less(best, run(pods, transforms[t].cb, memory, &kept));
    }
    printf("transform.%s %.0f ns\n", transforms[t].name, (double)best / PODS);
    printf("transform.%s.kept %zu bytes\n", transforms[t].name, kept / PODS);
  }
  uint64_t best = UINT64_MAX;
  for (uint64_t i = 0; i < rounds; i++) {
    best = less(best, run_parsed(pods));
  }
  printf("transform.remove_three.parsed %.0f ns\n", (double)best / PODS);
  for (unsigned i = 0; i < PODS; i++) {
    kin_object_unref(pods[i]);
  }
  kin__memory_unref(memory);
  return 0;
}
