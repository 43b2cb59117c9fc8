/* SPDX-License-Identifier: MIT */
#include "pod.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { POD_BYTES = 5400 };

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
  if (length < 0 || (size_t)length >= sizeof t->data - t->length) {
    abort();
  }
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

kin_object *bench_pod(unsigned i) {
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
  if (kin_object_parse(&object, NULL, t.data, t.length) != 0) {
    abort();
  }
  return object;
}
