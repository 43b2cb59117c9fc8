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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "measure.h"
#include "object/object.h"
#include "object/transform.h"

enum { PODS = 4000, ROUNDS = 20, POD_BYTES = 5400 };

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_transform: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

/* The objects. */

typedef struct text {
  char data[2 * POD_BYTES];
  size_t length;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t,
                                                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length =
      vsnprintf(t->data + t->length, sizeof t->data - t->length, format, args);
  va_end(args);
  check(length >= 0 && (size_t)length < sizeof t->data - t->length
            ? 0
            : KIN_ETOOBIG,
        "text");
  t->length += (size_t)length;
}

static void add_container(text *t, unsigned i) {
  add(t,
      "{\"name\":\"c%u\",\"image\":\"registry.example.com/team/web:1.27.%u\","
      "\"args\":[\"--listen=:8080\",\"--log-level=info\"],\"env\":[",
      i, i);
  for (unsigned k = 0; k < 6; k++) {
    add(t, "%s{\"name\":\"VARIABLE_%u\",\"value\":\"say \\\"hello\\\" %u\"}",
        k > 0 ? "," : "", k, i);
  }
  add(t,
      "],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},"
      "\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},\"volumeMounts\":["
      "{\"name\":\"config\",\"mountPath\":\"/etc/web\"},{\"name\":\"kube-api-"
      "access-x7k2p\",\"readOnly\":true,\"mountPath\":\"/var/run/secrets/"
      "kubernetes.io/serviceaccount\"}],\"terminationMessagePath\":\"/dev/"
      "termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}");
}

static kin_object *make_pod(unsigned i) {
  static text t;
  t.length = 0;
  add(&t,
      "{\"metadata\":{\"name\":\"web-7d9c6b5f4-%05u\",\"generateName\":"
      "\"web-7d9c6b5f4-\",\"namespace\":\"team-%u\",\"uid\":\"5b0c47d0-9d2e-"
      "4b43-a6ef-3f2a7d%06u\",\"resourceVersion\":\"%u\",\"creationTimestamp\":"
      "\"2026-11-20T21:29:04Z\",\"labels\":{\"app\":\"web\",\"pod-template-"
      "hash\":\"7d9c6b5f4\",\"team\":\"team-%u\"},\"annotations\":{"
      "\"prometheus.io/scrape\":\"true\",\"example.com/config-checksum\":"
      "\"0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31\"},"
      "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
      "\"ReplicaSet\",\"name\":\"web-7d9c6b5f4\",\"uid\":\"6f0e3c1d-2a4b-4c5d-"
      "8e6f-7a8b9c0d1e2f\",\"controller\":true}]},\"spec\":{\"containers\":[",
      i, i % 100, i, 100000 + i, i % 100);
  for (unsigned k = 0; k < 3; k++) {
    add(&t, "%s", k > 0 ? "," : "");
    add_container(&t, k);
  }
  add(&t,
      "],\"restartPolicy\":\"Always\",\"nodeName\":\"node-%u\","
      "\"serviceAccountName\":\"default\",\"tolerations\":[{\"key\":"
      "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}]},"
      "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.244.7.%u\","
      "\"conditions\":[",
      i % 500, i % 250);
  for (unsigned k = 0; t.length < POD_BYTES - 150; k++) {
    add(&t,
        "%s{\"type\":\"Condition%u\",\"status\":\"True\",\"lastProbeTime\":"
        "null,\"lastTransitionTime\":\"2026-11-20T21:29:04Z\"}",
        k > 0 ? "," : "", k);
  }
  add(&t, "],\"qosClass\":\"Burstable\"}}");
  kin_object *object;
  check(kin_object_parse(&object, NULL, t.data, t.length), "pod");
  return object;
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
    pods[i] = make_pod(i);
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
