/* SPDX-License-Identifier: MIT */
#include "podgen.h"

#include <stdbool.h>
#include <string.h>

#include "podshape.h"
#include "podtext.h"
#include "rng.h"

static const char *const TIERS[] = {"frontend", "backend", "cache", "batch"};

enum {
  NAME_BASE = sizeof PODTEXT_LETTERS - 1,
  NAME_SPACE = 27 * 27 * 27 * 27 * 27,
  NAME_STEP = 8675309, // coprime to 27, so that names are unique
  FULL_BYTES = 4600,   // from this size on, everything is there
  MEDIUM_BYTES = 3300, // and from this one, most
  ENV_MIN = 64,        // less padding than this is not worth an env
};

void podgen_namespace(const podgen *g, uint64_t index, buf *out) {
  buf_puts(out, "ns-");
  buf_put_u64(out, index % (g->namespaces != 0 ? g->namespaces : 1));
}

void podgen_name(const podgen *g, uint64_t index, buf *out) {
  podtext_set_name(g, index, out);
  buf_putc(out, '-');
  uint64_t number = index % NAME_SPACE * NAME_STEP % NAME_SPACE;
  for (int i = 0; i < 5; i++) {
    buf_putc(out, PODTEXT_LETTERS[number % NAME_BASE]);
    number /= NAME_BASE;
  }
  if (index >= NAME_SPACE) {
    buf_putc(out, '-');
    buf_put_u64(out, index / NAME_SPACE);
  }
}

/* -------------------------------------------------------------- metadata */

static void put_labels(const podgen *g, uint64_t index, rng *r, buf *out) {
  buf_printf(out,
             ",\"labels\":{\"app\":\"%s\",\"app.kubernetes.io/instance\":"
             "\"%s-prod\",\"tier\":\"%s\",\"track\":\"%s\",\"version\":"
             "\"v1.%u.%u\",\"pod-template-hash\":\"",
             podtext_app(g, index), podtext_app(g, index), PICK(r, TIERS),
             rng_below(r, 10) == 0 ? "canary" : "stable",
             (unsigned)rng_below(r, 30), (unsigned)rng_below(r, 10));
  rng set = {rng_mix(g->seed ^ (index % 997))};
  podtext_letters(out, &set, 10);
  buf_puts(out, "\"}");
}

static void put_annotations(rng *r, buf *out) {
  buf_printf(out,
             ",\"annotations\":{\"checksum/config\":\"%016llx%016llx\","
             "\"kubernetes.io/config.seen\":",
             (unsigned long long)rng_next(r), (unsigned long long)rng_next(r));
  podtext_time(out, rng_next(r));
  buf_printf(
      out, ",\"prometheus.io/port\":\"%u\",\"prometheus.io/scrape\":\"true\"}",
      8000 + (unsigned)rng_below(r, 2000));
}

static void put_owner(const podgen *g, uint64_t index, buf *out) {
  char uid[UUID_LEN + 1];
  rng r = {rng_mix(g->seed ^ (index % 997) ^ 0x5e7)};
  rng_uuid(&r, uid);
  buf_puts(out, ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                "\"ReplicaSet\",\"name\":\"");
  podtext_set_name(g, index, out);
  buf_printf(out,
             "\",\"uid\":\"%s\",\"controller\":true,"
             "\"blockOwnerDeletion\":true}]",
             uid);
}

static void put_managed_fields(uint64_t created, uint64_t change, buf *out) {
  buf_puts(out, ",\"managedFields\":[{\"manager\":\"kube-controller-manager\","
                "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":");
  podtext_time(out, created);
  buf_puts(
      out,
      ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{"
      "\"f:annotations\":{\".\":{},\"f:checksum/config\":{},"
      "\"f:prometheus.io/port\":{},\"f:prometheus.io/scrape\":{}},"
      "\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},"
      "\"f:app.kubernetes.io/instance\":{},\"f:pod-template-hash\":{},"
      "\"f:tier\":{},\"f:track\":{},\"f:version\":{}},\"f:ownerReferences\":{"
      "\".\":{},\"k:{\\\"uid\\\":\\\"0\\\"}\":{}}},\"f:spec\":{"
      "\"f:containers\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{},\"f:env\":"
      "{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:livenessProbe\":{},"
      "\"f:name\":{},\"f:ports\":{},\"f:readinessProbe\":{},\"f:resources\":{},"
      "\"f:volumeMounts\":{}}},\"f:dnsPolicy\":{},\"f:restartPolicy\":{},"
      "\"f:schedulerName\":{},\"f:securityContext\":{},"
      "\"f:terminationGracePeriodSeconds\":{}}}},{\"manager\":\"kubelet\","
      "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":");
  podtext_time(out, created + 7 + change);
  buf_puts(
      out,
      ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{"
      "\"f:conditions\":{\"k:{\\\"type\\\":\\\"ContainersReady\\\"}\":{\".\":{}"
      ","
      "\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}},"
      "\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:lastTransitionTime\":{}"
      ","
      "\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},\"f:hostIP\":"
      "{},\"f:phase\":{},\"f:podIP\":{},\"f:podIPs\":{},\"f:startTime\":{}}},"
      "\"subresource\":\"status\"}]");
}

/* ------------------------------------------------------------------ spec */

/* Returns the offset at which environment variables belong. */
static size_t put_container(const podgen *g, uint64_t index, rng *r, bool rich,
                            buf *out) {
  unsigned port = 8000 + (unsigned)rng_below(r, 2000);
  buf_printf(
      out, "{\"name\":\"app\",\"image\":\"registry.example.com/shop/%s:v1.%u\"",
      podtext_app(g, index), (unsigned)rng_below(r, 300));
  if (rich) {
    buf_printf(out,
               ",\"ports\":[{\"name\":\"http\",\"containerPort\":%u,"
               "\"protocol\":\"TCP\"}]",
               port);
  }
  size_t env_at = out->len;
  buf_printf(out,
             ",\"resources\":{\"limits\":{\"cpu\":\"%um\",\"memory\":\"%uMi\"},"
             "\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}}",
             100 * (1 + (unsigned)rng_below(r, 20)),
             128 * (1 + (unsigned)rng_below(r, 16)));
  if (rich) {
    buf_printf(
        out,
        ",\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/app\"},"
        "{\"name\":\"kube-api-access\",\"readOnly\":true,\"mountPath\":"
        "\"/var/run/secrets/kubernetes.io/serviceaccount\"}],"
        "\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":%u,"
        "\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
        "\"successThreshold\":1,\"failureThreshold\":3},\"readinessProbe\":{"
        "\"httpGet\":{\"path\":\"/ready\",\"port\":%u,\"scheme\":\"HTTP\"},"
        "\"timeoutSeconds\":1,\"periodSeconds\":5,\"successThreshold\":1,"
        "\"failureThreshold\":3}",
        port, port);
  }
  buf_puts(out, ",\"terminationMessagePath\":\"/dev/termination-log\","
                "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
                "\"IfNotPresent\"}");
  return env_at;
}

/* Returns what put_container() returns. */
static size_t put_spec(const podgen *g, uint64_t index, rng *r, bool rich,
                       buf *out) {
  buf_puts(out, ",\"spec\":{");
  if (rich) {
    buf_printf(out,
               "\"volumes\":[{\"name\":\"config\",\"configMap\":{\"name\":"
               "\"%s-config\",\"defaultMode\":420}},{\"name\":"
               "\"kube-api-access\",\"projected\":{\"sources\":[{"
               "\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":"
               "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\","
               "\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}],"
               "\"defaultMode\":420}}],",
               podtext_app(g, index));
  }
  buf_puts(out, "\"containers\":[");
  size_t env_at = put_container(g, index, r, rich, out);
  buf_printf(out,
             "],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":"
             "30,\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"%s\","
             "\"nodeName\":\"node-%u\"",
             podtext_app(g, index), (unsigned)rng_below(r, 100));
  if (rich) {
    buf_puts(out,
             ",\"securityContext\":{},\"schedulerName\":\"default-scheduler\","
             "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\","
             "\"operator\":\"Exists\",\"effect\":\"NoExecute\","
             "\"tolerationSeconds\":300},{\"key\":"
             "\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\","
             "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],"
             "\"priority\":0,\"enableServiceLinks\":true,"
             "\"preemptionPolicy\":\"PreemptLowerPriority\"");
  }
  buf_putc(out, '}');
  return env_at;
}

/* ---------------------------------------------------------------- status */

static void put_condition(buf *out, const char *type, uint64_t when,
                          bool first) {
  buf_printf(out,
             "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
             "\"lastTransitionTime\":",
             first ? "" : ",", type);
  podtext_time(out, when);
  buf_putc(out, '}');
}

static void put_status(uint64_t created, uint64_t change, rng *r, bool rich,
                       buf *out) {
  unsigned a = (unsigned)rng_below(r, 256);
  unsigned b = (unsigned)rng_below(r, 256);
  const char *phase = rng_below(r, 20) == 0 ? "Pending" : "Running";
  buf_printf(out, ",\"status\":{\"phase\":\"%s\"", phase);
  if (rich) {
    buf_puts(out, ",\"conditions\":[");
    put_condition(out, "Initialized", created + 1, true);
    put_condition(out, "Ready", created + 7 + change, false);
    put_condition(out, "ContainersReady", created + 7 + change, false);
    put_condition(out, "PodScheduled", created, false);
    buf_putc(out, ']');
  }
  buf_printf(out,
             ",\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.244.%u.%u\",\"podIPs\":"
             "[{\"ip\":\"10.244.%u.%u\"}],\"startTime\":",
             a, b, b, a, b, a);
  podtext_time(out, created);
  buf_printf(out,
             ",\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,"
             "\"restartCount\":%llu",
             (unsigned long long)change);
  if (rich) {
    buf_puts(out, ",\"state\":{\"running\":{\"startedAt\":");
    podtext_time(out, created + 5 + change);
    buf_printf(out,
               "}},\"lastState\":{},\"started\":true,\"containerID\":"
               "\"containerd://%016llx%016llx\"",
               (unsigned long long)rng_next(r),
               (unsigned long long)rng_next(r));
  }
  buf_puts(out, "}],\"qosClass\":\"Burstable\"}");
}

static void put_metadata(const podgen *g, uint64_t index, uint64_t version,
                         uint64_t change, uint64_t created, rng *r, buf *out) {
  char uid[UUID_LEN + 1];
  rng_uuid(r, uid);
  buf_puts(out, "\"metadata\":{\"name\":\"");
  podgen_name(g, index, out);
  if (g->object_bytes >= MEDIUM_BYTES) {
    buf_puts(out, "\",\"generateName\":\"");
    podtext_set_name(g, index, out);
    buf_putc(out, '-');
  }
  buf_puts(out, "\",\"namespace\":\"");
  podgen_namespace(g, index, out);
  buf_printf(out, "\",\"uid\":\"%s\",\"resourceVersion\":\"", uid);
  buf_put_u64(out, version);
  buf_puts(out, "\",\"generation\":1,\"creationTimestamp\":");
  podtext_time(out, created);
  put_labels(g, index, r, out);
  if (g->object_bytes >= MEDIUM_BYTES) {
    put_annotations(r, out);
    put_owner(g, index, out);
  }
  if (g->object_bytes >= FULL_BYTES) {
    put_managed_fields(created, change, out);
  }
  buf_putc(out, '}');
}

void podgen_render(const podgen *g, uint64_t index, uint64_t version,
                   uint64_t change, buf *out) {
  size_t from = out->len;
  buf_puts(out, PODGEN_PREFIX);
  if (g->shapes != 0) {
    podshape_render(g, index, version, change, out);
    return;
  }
  rng r = podtext_rng(g, index);
  rng_next(&r); // the application's name
  uint64_t created = rng_below(&r, 200 * 86400);
  bool rich = g->object_bytes >= MEDIUM_BYTES;
  put_metadata(g, index, version, change, created, &r, out);
  size_t env_at = put_spec(g, index, &r, rich, out);
  put_status(created, change, &r, rich, out);
  buf_putc(out, '}');
  size_t len = out->len - from - podtext_varying(version, change, 1);
  if (len + ENV_MIN < g->object_bytes) {
    buf env = {0};
    podtext_env(&r, g->object_bytes - len, &env);
    podtext_insert(out, env_at, &env);
    buf_free(&env);
  }
}
