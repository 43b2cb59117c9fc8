/* SPDX-License-Identifier: MIT */

/* What decoding costs, on one core and without any I/O: the scanners alone, a
 * list cut into items, the same with objects made of them, and watch events.
 *
 *   bench_decode [ROUNDS]
 *
 * prints lines `name value unit`, the best of all rounds. The bytes are 4,000
 * pods of 5.4 KB, fed in spans of 64 KiB as a socket would give them; a round
 * reads all of them, 22 MB, so they come from the last-level cache at best. Not
 * measured: receiving, the store, and (but for `list_keep`) fresh memory. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/scan.h"
#include "decode/list.h"
#include "decode/watch.h"
#include "measure.h"

enum { PODS = 4000, SPAN = 64 * 1024, ROUNDS = 20 };

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_decode: %s: %d\n", what, err);
    exit(1);
  }
}

/* The bytes. */

static const char pod_spec[] =
    "\"spec\":{\"volumes\":[{\"name\":\"config\",\"configMap\":{\"name\":\"web-"
    "config\",\"defaultMode\":420}},{\"name\":\"kube-api-access-x7k2p\","
    "\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
    "\"expirationSeconds\":"
    "3607,\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\","
    "\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{"
    "\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\","
    "\"fieldPath\":\"metadata.namespace\"}}]}}],\"defaultMode\":420}}],"
    "\"containers\":[{\"name\":\"web\",\"image\":\"registry.example.com/team/"
    "web:"
    "1.27.3\",\"args\":[\"--listen=:8080\",\"--log-level=info\"],\"ports\":[{"
    "\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"}],\"env\":[{"
    "\"name\":\"POD_NAME\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":\"v1\","
    "\"fieldPath\":\"metadata.name\"}}},{\"name\":\"GREETING\",\"value\":\"say "
    "\\\"hello\\\"\"}],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":"
    "\"256Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
    "\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/"
    "web\"},{\"name\":"
    "\"kube-api-access-x7k2p\",\"readOnly\":true,\"mountPath\":\"/var/run/"
    "secrets/"
    "kubernetes.io/serviceaccount\"}],\"livenessProbe\":{\"httpGet\":{\"path\":"
    "\"/healthz\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,"
    "\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3},"
    "\"terminationMessagePath\":\"/dev/termination-log\","
    "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
    "\"IfNotPresent\"}],"
    "\"initContainers\":[{\"name\":\"migrate\",\"image\":\"registry.example."
    "com/team/migrate:1.27.3\",\"command\":[\"/bin/migrate\",\"--database\","
    "\"postgres://web@db.team.svc.cluster.local:5432/web?sslmode=verify-full\","
    "\"--wait\",\"60s\"],\"env\":[{\"name\":\"PGPASSWORD\",\"valueFrom\":{"
    "\"secretKeyRef\":{\"name\":\"web-database\",\"key\":\"password\"}}}],"
    "\"resources\":{\"limits\":{\"memory\":\"64Mi\"},\"requests\":{\"cpu\":"
    "\"10m\",\"memory\":\"64Mi\"}},\"volumeMounts\":[{\"name\":\"kube-api-"
    "access-x7k2p\",\"readOnly\":true,\"mountPath\":\"/var/run/secrets/"
    "kubernetes.io/serviceaccount\"}],\"terminationMessagePath\":\"/dev/"
    "termination-log\",\"terminationMessagePolicy\":\"File\","
    "\"imagePullPolicy\":\"IfNotPresent\"}],"
    "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
    "\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"default\","
    "\"nodeName\":\"node-17\",\"securityContext\":{},\"schedulerName\":"
    "\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/not-"
    "ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
    "\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true},";

static const char pod_status[] =
    "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
    "\"Initialized\","
    "\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":"
    "\"2026-11-20T21:29:04Z\"},{\"type\":\"Ready\",\"status\":\"True\","
    "\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-11-20T21:29:09Z\"},{"
    "\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
    "\"lastTransitionTime\":\"2026-11-20T21:29:04Z\"}],\"hostIP\":\"10.0.3."
    "17\","
    "\"podIP\":\"10.244.7.91\",\"podIPs\":[{\"ip\":\"10.244.7.91\"}],"
    "\"startTime\":\"2026-11-20T21:29:04Z\",\"containerStatuses\":[{\"name\":"
    "\"web\",\"state\":{\"running\":{\"startedAt\":\"2026-11-20T21:29:08Z\"}},"
    "\"lastState\":{},\"ready\":true,\"restartCount\":0,\"image\":\"registry."
    "example.com/team/web:1.27.3\",\"imageID\":\"registry.example.com/team/web@"
    "sha256:0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31\","
    "\"containerID\":\"containerd://"
    "f6f4c1f1d7fdd4a4e9bd2b0df9ea5f1b7ab3e3f9a3f3"
    "33c5a9b1a9d2f6c8e7d1\",\"started\":true}],\"qosClass\":\"Burstable\"}}";

static const char managed_fields[] =
    "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":"
    "\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-20T21:29:04Z\","
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:"
    "generateName\":"
    "{},\"f:labels\":{\".\":{},\"f:app\":{},\"f:pod-template-hash\":{}},"
    "\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"6f0e3c1d-2a4b-4c5d-"
    "8e6f-"
    "7a8b9c0d1e2f\\\"}\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"
    "\\\"web\\\"}\":{\".\":{},\"f:args\":{},\"f:env\":{\".\":{},\"k:{"
    "\\\"name\\\":"
    "\\\"POD_NAME\\\"}\":{\".\":{},\"f:name\":{},\"f:valueFrom\":{\".\":{},"
    "\"f:fieldRef\":{}}}},\"f:image\":{},\"f:imagePullPolicy\":{},"
    "\"f:livenessProbe\":{\".\":{},\"f:failureThreshold\":{},\"f:httpGet\":{\"."
    "\":"
    "{},\"f:path\":{},\"f:port\":{},\"f:scheme\":{}},\"f:periodSeconds\":{}},"
    "\"f:name\":{},\"f:ports\":{},\"f:resources\":{\".\":{},\"f:limits\":{\"."
    "\":{},"
    "\"f:cpu\":{},\"f:memory\":{}}},\"f:volumeMounts\":{}}},\"f:dnsPolicy\":{},"
    "\"f:enableServiceLinks\":{},\"f:restartPolicy\":{},\"f:schedulerName\":{},"
    "\"f:securityContext\":{},\"f:terminationGracePeriodSeconds\":{},"
    "\"f:volumes\":{}}}},{\"manager\":\"kubelet\",\"operation\":\"Update\","
    "\"apiVersion\":\"v1\",\"time\":\"2026-11-20T21:29:09Z\",\"fieldsType\":"
    "\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:conditions\":{\"k:{"
    "\\\"type\\\":"
    "\\\"Initialized\\\"}\":{\".\":{},\"f:lastProbeTime\":{},"
    "\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}},\"k:{"
    "\\\"type\\\":"
    "\\\"Ready\\\"}\":{\".\":{},\"f:lastProbeTime\":{},\"f:"
    "lastTransitionTime\":{},"
    "\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},\"f:hostIP\":{}"
    ","
    "\"f:phase\":{},\"f:podIP\":{},\"f:podIPs\":{},\"f:startTime\":{}}},"
    "\"subresource\":\"status\"}]},";

static void append_pod(kin__buf *out, unsigned i) {
  check(
      kin__buf_printf(
          out,
          "{\"metadata\":{\"name\":\"web-7d9c6b5f4-%05u\",\"generateName\":"
          "\"web-7d9c6b5f4-\",\"namespace\":\"team-%u\",\"uid\":\"8974bdea-"
          "0d43-"
          "4729-b643-f4164c%06u\",\"resourceVersion\":\"%u\",\"generation\":1,"
          "\"creationTimestamp\":\"2026-11-20T21:29:04Z\",\"labels\":{\"app\":"
          "\"web\",\"pod-template-hash\":\"7d9c6b5f4\",\"topology.kubernetes."
          "io/"
          "zone\":\"zone-%u\"},\"annotations\":{\"prometheus.io/"
          "scrape\":\"true\","
          "\"example.com/"
          "checksum\":\"5f2b8d3f1c0f6ad4\"},\"ownerReferences\":[{"
          "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-"
          "7d9c6b5f4\",\"uid\":\"6f0e3c1d-2a4b-4c5d-8e6f-7a8b9c0d1e2f\","
          "\"controller\":true,\"blockOwnerDeletion\":true}],%s%s%s",
          i, i % 50, i, 100000 + i, i % 3, managed_fields, pod_spec,
          pod_status),
      "pods");
}

static void make_list(kin__buf *out) {
  check(kin__buf_append_cstr(out, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\","
                                  "\"metadata\":{\"resourceVersion\":\"9\"},"
                                  "\"items\":["),
        "list");
  for (unsigned i = 0; i < PODS; i++) {
    check(kin__buf_append_cstr(out, i > 0 ? "," : ""), "list");
    append_pod(out, i);
  }
  check(kin__buf_append_cstr(out, "]}\n"), "list");
}

static void make_watch(kin__buf *out) {
  for (unsigned i = 0; i < PODS; i++) {
    check(kin__buf_append_cstr(out, "{\"type\":\"MODIFIED\",\"object\":"),
          "watch");
    append_pod(out, i);
    check(kin__buf_append_cstr(out, "}\n"), "watch");
  }
}

/* The sinks. */

typedef struct world {
  kin__decode_sink sink;
  kin__projection *projection;
  kin__memory *memory;
  uint64_t count;
  uint64_t stored; /* bytes */
  kin_object **kept;
} world;

static bool is_known(void *ctx, const kin__object_parts *identity) {
  (void)ctx;
  return identity->uid.length > 0;
}

static int count_object(void *ctx, kin__decoded_type type,
                        const kin__object_parts *parts) {
  (void)type;
  world *w = ctx;
  w->count += parts->name.length > 0;
  return 0;
}

static int make_object(void *ctx, kin__decoded_type type,
                       const kin__object_parts *parts) {
  (void)type;
  world *w = ctx;
  kin_object *object;
  int err = kin__object_new(&object, w->memory, parts);
  if (err == 0) {
    w->count++;
    w->stored += kin_object_memory(object);
    kin_object_unref(object);
  }
  return err;
}

static int keep_object(void *ctx, kin__decoded_type type,
                       const kin__object_parts *parts) {
  (void)type;
  world *w = ctx;
  return kin__object_new(&w->kept[w->count++], w->memory, parts);
}

/* The measurements: each returns the nanoseconds of one round. */

typedef uint64_t (*round_fn)(world *w, const kin__buf *bytes);

static uint64_t list_round(world *w, const kin__buf *bytes) {
  kin__list_decoder *decoder;
  kin__list_result result;
  kin__decode_limits limits = {0};
  check(kin__list_decoder_new(&decoder, kin__default_allocator(), &limits,
                              w->projection, &w->sink),
        "list decoder");
  w->count = w->stored = 0;
  uint64_t begin = wall_ns();
  for (size_t at = 0; at < bytes->length; at += SPAN) {
    size_t span = bytes->length - at < SPAN ? bytes->length - at : SPAN;
    check(kin__list_decoder_parse(decoder, bytes->data + at, span), "list");
  }
  check(kin__list_decoder_end(decoder, &result), "list");
  uint64_t ns = wall_ns() - begin;
  kin__list_decoder_free(decoder);
  check(w->count != PODS, "number of items");
  return ns;
}

static uint64_t keeping_round(world *w, const kin__buf *bytes) {
  w->kept = calloc(PODS, sizeof *w->kept);
  uint64_t ns = list_round(w, bytes);
  for (size_t i = 0; i < PODS; i++) {
    kin_object_unref(w->kept[i]);
  }
  free(w->kept);
  return ns;
}

static uint64_t watch_round(world *w, const kin__buf *bytes) {
  kin__watch_decoder *decoder;
  kin__decode_limits limits = {0};
  check(kin__watch_decoder_new(&decoder, kin__default_allocator(), &limits,
                               w->projection, &w->sink),
        "watch decoder");
  w->count = 0;
  uint64_t begin = wall_ns();
  for (size_t at = 0; at < bytes->length; at += SPAN) {
    size_t span = bytes->length - at < SPAN ? bytes->length - at : SPAN;
    check(kin__watch_decoder_parse(decoder, bytes->data + at, span), "watch");
  }
  uint64_t ns = wall_ns() - begin;
  check(!kin__watch_decoder_is_between(decoder), "end of watch");
  kin__watch_decoder_free(decoder);
  check(w->count != PODS, "number of events");
  return ns;
}

static uint64_t best_of(unsigned rounds, round_fn round, world *w,
                        const kin__buf *bytes) {
  uint64_t best = UINT64_MAX;
  for (unsigned i = 0; i < rounds; i++) {
    uint64_t ns = round(w, bytes);
    best = ns < best ? ns : best;
  }
  return best;
}

static double gigabytes_per_s(size_t bytes, uint64_t ns) {
  return (double)bytes / (double)ns;
}

static void measure_scanners(unsigned rounds, const kin__buf *bytes) {
  const kin__scanner *scanner;
  for (size_t i = 0; (scanner = kin__scanner_at(i)) != NULL; i++) {
    uint64_t best = UINT64_MAX;
    for (unsigned round = 0; round < rounds; round++) {
      kin__skip skip = {.depth = 1, .max_depth = 10000};
      size_t used = 0;
      uint64_t begin = wall_ns();
      kin__skip_result result = kin__scanner_skip(
          scanner, &skip, bytes->data + 1, bytes->length - 1, &used);
      uint64_t ns = wall_ns() - begin;
      check(result != KIN__SKIP_DONE, "scan");
      best = ns < best ? ns : best;
    }
    printf("scan_%s %.2f GB/s\n", scanner->name,
           gigabytes_per_s(bytes->length, best));
  }
}

static void measure_list(unsigned rounds, world *w, const kin__buf *bytes) {
  w->sink = (kin__decode_sink){.ctx = w, .object = count_object};
  printf("list_count %.2f GB/s\n",
         gigabytes_per_s(bytes->length, best_of(rounds, list_round, w, bytes)));
  w->sink.known = is_known;
  printf("list_known %.2f GB/s\n",
         gigabytes_per_s(bytes->length, best_of(rounds, list_round, w, bytes)));
  w->sink.known = NULL;
  w->sink.object = make_object;
  uint64_t ns = best_of(rounds, list_round, w, bytes);
  printf("list_make %.2f GB/s\n", gigabytes_per_s(bytes->length, ns));
  printf("list_make_item %.0f ns\n", (double)ns / PODS);
  printf("stored_item %.0f bytes\n", (double)w->stored / PODS);
  w->sink.object = keep_object;
  printf(
      "list_keep %.2f GB/s\n",
      gigabytes_per_s(bytes->length, best_of(rounds, keeping_round, w, bytes)));
}

static void measure_watch(unsigned rounds, world *w, const kin__buf *bytes) {
  w->sink = (kin__decode_sink){.ctx = w, .object = count_object};
  printf("watch_count_event %.0f ns\n",
         (double)best_of(rounds, watch_round, w, bytes) / PODS);
  w->sink.object = make_object;
  printf("watch_make_event %.0f ns\n",
         (double)best_of(rounds, watch_round, w, bytes) / PODS);
}

int main(int argc, char **argv) {
  unsigned rounds = ROUNDS;
  if (argc > 1) {
    rounds = (unsigned)number_argument("bench_decode", "ROUNDS", argv[1]);
  }
  kin__buf list;
  kin__buf watch;
  kin__buf_init(&list, kin__default_allocator(), (size_t)1 << 30);
  kin__buf_init(&watch, kin__default_allocator(), (size_t)1 << 30);
  make_list(&list);
  make_watch(&watch);
  world w = {.memory = kin__memory_new(NULL)};
  check(w.memory == NULL, "memory");
  check(kin__projection_new(&w.projection, kin__default_allocator(), false),
        "projection");
  printf("item %.0f bytes\n", (double)list.length / PODS);
  measure_scanners(rounds, &list);
  measure_list(rounds, &w, &list);
  measure_watch(rounds, &w, &watch);
  kin__projection_free(w.projection);
  kin__memory_unref(w.memory);
  kin__buf_finish(&list);
  kin__buf_finish(&watch);
  return 0;
}
