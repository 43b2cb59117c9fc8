/* SPDX-License-Identifier: MIT */
#include "podshape.h"

#include <stdbool.h>
#include <string.h>

#include "podtext.h"

enum {
  STRIDE = 7919,          // coprime to every number of shapes
  SETS = 997,             // owners, as in podtext_set_name()
  ENV_MIN = 64,           // less padding than this is not worth an env
  CONTAINER_BYTES = 1500, // about what one more container needs
  MANAGED_FIELDS_MIN = 3500,
  MAX_CONTAINERS = 6,
};

/* What all pods of a shape have in common. */
typedef struct shape {
  uint64_t number;
  size_t bytes;
  unsigned containers, init_containers;
  unsigned labels, annotations, volumes, tolerations, conditions;
  unsigned first_label, first_annotation, first_volume;
  unsigned owner; // index into OWNERS, or their number for none
  uint64_t parts; // a bit for each part that may be there
} shape;

typedef struct owner_kind {
  const char *api_version, *kind;
} owner_kind;

static const owner_kind OWNERS[] = {
    {"apps/v1", "ReplicaSet"},     {"apps/v1", "StatefulSet"},
    {"apps/v1", "DaemonSet"},      {"batch/v1", "Job"},
    {"example.com/v1", "Rollout"},
};
static const char *const LABELS[] = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
    "pod-template-hash",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
    "tier",
    "team",
    "cost-center",
    "security.istio.io/tlsMode",
    "service.istio.io/canonical-name",
    "topology.kubernetes.io/zone",
};
static const char *const ANNOTATIONS[] = {
    "checksum/config",
    "checksum/secret",
    "prometheus.io/scrape",
    "prometheus.io/port",
    "prometheus.io/path",
    "kubectl.kubernetes.io/restartedAt",
    "kubectl.kubernetes.io/default-container",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cni.projectcalico.org/podIP",
    "cni.projectcalico.org/containerID",
    "k8s.v1.cni.cncf.io/network-status",
    "sidecar.istio.io/status",
    "vault.hashicorp.com/agent-inject",
    "kubernetes.io/psp",
};
static const char *const VOLUMES[] = {
    "\"configMap\":{\"name\":\"settings\",\"defaultMode\":420}",
    "\"secret\":{\"secretName\":\"credentials\",\"defaultMode\":420}",
    "\"emptyDir\":{}",
    "\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"64Mi\"}",
    "\"persistentVolumeClaim\":{\"claimName\":\"data-0\"}",
    "\"hostPath\":{\"path\":\"/var/log\",\"type\":\"DirectoryOrCreate\"}",
    "\"downwardAPI\":{\"items\":[{\"path\":\"labels\",\"fieldRef\":{"
    "\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.labels\"}}],"
    "\"defaultMode\":420}",
    "\"csi\":{\"driver\":\"secrets-store.csi.k8s.io\",\"readOnly\":true,"
    "\"volumeAttributes\":{\"secretProviderClass\":\"app\"}}",
    "\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
    "\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{\"name\":"
    "\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]"
    "}}],\"defaultMode\":420}",
};
static const char *const CONDITIONS[] = {"PodReadyToStartContainers",
                                         "Initialized",
                                         "Ready",
                                         "ContainersReady",
                                         "PodScheduled",
                                         "DisruptionTarget",
                                         "example.com/load-balancer-ok"};
/* Parts of a pod's spec, by a bit of shape.parts each. */
static const char *const SPEC_PARTS[] = {
    ",\"securityContext\":{\"runAsUser\":1000,\"runAsNonRoot\":true,"
    "\"fsGroup\":2000,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}",
    ",\"imagePullSecrets\":[{\"name\":\"pull\"}]",
    ",\"affinity\":{\"podAntiAffinity\":{"
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":100,"
    "\"podAffinityTerm\":{\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}},"
    "\"topologyKey\":\"kubernetes.io/hostname\"}}]}}",
    ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
    "\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}"
    "]",
    ",\"priorityClassName\":\"high\",\"priority\":1000000",
    ",\"hostNetwork\":true",
    ",\"nodeSelector\":{\"kubernetes.io/os\":\"linux\"}",
    ",\"hostAliases\":[{\"ip\":\"10.1.2.3\",\"hostnames\":[\"db.internal\"]}]",
    ",\"dnsConfig\":{\"options\":[{\"name\":\"ndots\",\"value\":\"2\"}]}",
    ",\"readinessGates\":[{\"conditionType\":\"example.com/"
    "load-balancer-ok\"}]",
};
/* The same of a container; probes and ports are the pod's own. */
static const char *const CONTAINER_PARTS[] = {
    ",\"command\":[\"/bin/server\"]",
    ",\"args\":[\"--config\",\"/etc/app/config.yaml\",\"--verbose\"]",
    ",\"workingDir\":\"/srv\"",
    ",\"envFrom\":[{\"configMapRef\":{\"name\":\"settings\"}},{\"secretRef\":{"
    "\"name\":\"credentials\",\"optional\":true}}]",
    ",\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":8080,"
    "\"scheme\":\"HTTP\"},\"initialDelaySeconds\":10,\"timeoutSeconds\":1,"
    "\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}",
    ",\"readinessProbe\":{\"httpGet\":{\"path\":\"/ready\",\"port\":\"http\","
    "\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":5,"
    "\"successThreshold\":1,\"failureThreshold\":3}",
    ",\"startupProbe\":{\"exec\":{\"command\":[\"/bin/check\",\"--quick\"]},"
    "\"timeoutSeconds\":1,\"periodSeconds\":2,\"successThreshold\":1,"
    "\"failureThreshold\":30}",
    ",\"lifecycle\":{\"preStop\":{\"exec\":{\"command\":[\"/bin/sh\",\"-c\","
    "\"sleep 5 \\u0026\\u0026 kill 1\"]}}}",
    ",\"securityContext\":{\"capabilities\":{\"drop\":[\"ALL\"]},"
    "\"readOnlyRootFilesystem\":true,\"allowPrivilegeEscalation\":false}",
    ",\"tty\":true,\"stdin\":true",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static shape shape_of(const podgen *g, uint64_t index) {
  uint64_t number = index % SETS % g->shapes;
  rng r = {rng_mix(g->seed * 0x5ba9e + number)};
  // A mean of 1 over u from 0 to 1, of which each shape has its own.
  double u = (double)(number * STRIDE % g->shapes) / (double)g->shapes;
  size_t bytes = (size_t)((double)g->object_bytes * (0.37 + 1.89 * u * u));
  size_t room = bytes / CONTAINER_BYTES;
  size_t most = room < 1 ? 1 : room > MAX_CONTAINERS ? MAX_CONTAINERS : room;
  return (shape){
      .number = number,
      .bytes = bytes,
      .containers = 1 + (unsigned)rng_below(&r, most),
      .init_containers = (unsigned)rng_below(&r, room > 3 ? 3 : 1),
      .labels = 1 + (unsigned)rng_below(&r, 2 + room * 2),
      .annotations = (unsigned)rng_below(&r, 2 + room * 2),
      .volumes = (unsigned)rng_below(&r, 2 + room),
      .tolerations = (unsigned)rng_below(&r, 2 + room / 2),
      .conditions = 2 + (unsigned)rng_below(&r, COUNT(CONDITIONS) - 1),
      .first_label = (unsigned)rng_below(&r, COUNT(LABELS)),
      .first_annotation = (unsigned)rng_below(&r, COUNT(ANNOTATIONS)),
      .first_volume = (unsigned)rng_below(&r, COUNT(VOLUMES)),
      .owner = (unsigned)rng_below(&r, COUNT(OWNERS) + 1),
      .parts = rng_next(&r),
  };
}

static void put_parts(const char *const *parts, size_t count, uint64_t bits,
                      buf *out) {
  for (size_t i = 0; i < count; i++) {
    buf_puts(out, (bits >> i & 1) != 0 ? parts[i] : "");
  }
}

/* -------------------------------------------------------------- metadata */

static void put_words(rng *r, unsigned count, buf *out) {
  for (unsigned i = 0; i < count; i++) {
    buf_puts(out, i != 0 ? "-" : "");
    buf_puts(out, podtext_word(r));
  }
}

static void put_labels(const podgen *g, const shape *s, uint64_t index, rng *r,
                       buf *out) {
  buf_printf(out, ",\"labels\":{\"app\":\"%s\",\"track\":\"%s\"",
             podtext_app(g, index),
             rng_below(r, 10) == 0 ? "canary" : "stable");
  for (unsigned i = 0; i < s->labels && i < COUNT(LABELS); i++) {
    buf_printf(out, ",\"%s\":\"", LABELS[(s->first_label + i) % COUNT(LABELS)]);
    put_words(r, 1 + i % 2, out);
    buf_putc(out, '"');
  }
  buf_putc(out, '}');
}

static void put_annotations(const shape *s, rng *r, buf *out) {
  if (s->annotations == 0) {
    return;
  }
  buf_puts(out, ",\"annotations\":{");
  for (unsigned i = 0; i < s->annotations && i < COUNT(ANNOTATIONS); i++) {
    buf_printf(out, "%s\"%s\":\"", i != 0 ? "," : "",
               ANNOTATIONS[(s->first_annotation + i) % COUNT(ANNOTATIONS)]);
    if (i % 3 == 2) { // JSON within a string, as several programs write it
      buf_puts(out, "{\\\"name\\\":\\\"");
      put_words(r, 6, out);
      buf_puts(out, "\\\"}");
    } else {
      put_words(r, 1 + i % 4, out);
    }
    buf_putc(out, '"');
  }
  buf_putc(out, '}');
}

static void put_owner(const podgen *g, const shape *s, uint64_t index,
                      buf *out) {
  if (s->owner >= COUNT(OWNERS)) {
    return;
  }
  char uid[UUID_LEN + 1];
  rng r = {rng_mix(g->seed ^ (index % SETS) ^ 0x5e7)};
  rng_uuid(&r, uid);
  buf_printf(out,
             ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\","
             "\"name\":\"",
             OWNERS[s->owner].api_version, OWNERS[s->owner].kind);
  podtext_set_name(g, index, out);
  buf_printf(out,
             "\",\"uid\":\"%s\",\"controller\":true,"
             "\"blockOwnerDeletion\":true}]",
             uid);
}

static void put_managed_fields(const shape *s, uint64_t created,
                               uint64_t change, buf *out) {
  buf_puts(out, ",\"managedFields\":[{\"manager\":\"kube-controller-manager\","
                "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":");
  podtext_time(out, created);
  buf_puts(out, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{"
                "\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{}");
  for (unsigned i = 0; i < s->labels && i < COUNT(LABELS); i++) {
    buf_printf(out, ",\"f:%s\":{}",
               LABELS[(s->first_label + i) % COUNT(LABELS)]);
  }
  buf_puts(out, "}},\"f:spec\":{\"f:containers\":{");
  for (unsigned i = 0; i < s->containers; i++) {
    buf_printf(out,
               "%s\"k:{\\\"name\\\":\\\"c%u\\\"}\":{\".\":{},\"f:image\":{},"
               "\"f:name\":{},\"f:resources\":{}}",
               i != 0 ? "," : "", i);
  }
  buf_puts(out, "}}}},{\"manager\":\"kubelet\",\"operation\":\"Update\","
                "\"apiVersion\":\"v1\",\"time\":");
  podtext_time(out, created + 7 + change);
  buf_puts(out, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{"
                "\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{}"
                ",\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},"
                "\"f:phase\":{},\"f:podIP\":{},\"f:startTime\":{}}},"
                "\"subresource\":\"status\"}]");
}

static void put_identity(const podgen *g, uint64_t index, uint64_t version,
                         rng *r, buf *out) {
  char uid[UUID_LEN + 1];
  rng_uuid(r, uid);
  buf_puts(out, "\"metadata\":{\"name\":\"");
  podgen_name(g, index, out);
  buf_puts(out, "\",\"generateName\":\"");
  podtext_set_name(g, index, out);
  buf_puts(out, "-\",\"namespace\":\"");
  podgen_namespace(g, index, out);
  buf_printf(out, "\",\"uid\":\"%s\",\"resourceVersion\":\"%llu\"", uid,
             (unsigned long long)version);
}

/* ------------------------------------------------------------------ spec */

static void put_volumes(const shape *s, buf *out) {
  for (unsigned i = 0; i < s->volumes; i++) {
    buf_printf(out, "%s{\"name\":\"v%u\",%s}", i != 0 ? "," : "\"volumes\":[",
               i, VOLUMES[(s->first_volume + i) % COUNT(VOLUMES)]);
  }
  buf_puts(out, s->volumes != 0 ? "]," : "");
}

/* Returns the offset at which environment variables belong. */
static size_t put_container(const podgen *g, const shape *s, uint64_t index,
                            unsigned number, const char *prefix, rng *r,
                            buf *out) {
  uint64_t bits = rng_mix(s->parts + number + (uint64_t)prefix[0] * 16);
  buf_printf(
      out, "{\"name\":\"%s%u\",\"image\":\"registry.example.com/shop/%s:v%u\"",
      prefix, number, podtext_app(g, index), (unsigned)rng_below(r, 99));
  buf_puts(out, (bits >> 40 & 1) == 0
                    ? ""
                    : ",\"ports\":[{\"name\":\"http\",\"containerPort\":8080,"
                      "\"protocol\":\"TCP\"}]");
  size_t env_at = out->len;
  buf_printf(out,
             ",\"resources\":{\"limits\":{\"memory\":\"%uMi\"},\"requests\":{"
             "\"cpu\":\"%um\",\"memory\":\"128Mi\"}}",
             128 * (1 + (unsigned)rng_below(r, 16)),
             50 * (1 + (unsigned)rng_below(r, 20)));
  for (unsigned i = 0; i < s->volumes && i < 1 + bits % 4; i++) {
    buf_printf(out, "%s{\"name\":\"v%u\",\"mountPath\":\"/mnt/v%u\"}",
               i != 0 ? "," : ",\"volumeMounts\":[", i, i);
  }
  buf_puts(out, s->volumes != 0 ? "]" : "");
  // Small pods have few of them: two thirds of the bits are cleared.
  uint64_t few = s->bytes < 2 * CONTAINER_BYTES * s->containers
                     ? bits & bits >> 11 & 0x3ff
                     : bits;
  put_parts(CONTAINER_PARTS, COUNT(CONTAINER_PARTS), few, out);
  buf_puts(out, ",\"terminationMessagePath\":\"/dev/termination-log\","
                "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
                "\"IfNotPresent\"}");
  return env_at;
}

/* Returns what put_container() returns, of the first one. */
static size_t put_spec(const podgen *g, const shape *s, uint64_t index, rng *r,
                       buf *out) {
  buf_puts(out, ",\"spec\":{");
  put_volumes(s, out);
  for (unsigned i = 0; i < s->init_containers; i++) {
    buf_puts(out, i != 0 ? "," : "\"initContainers\":[");
    put_container(g, s, index, i, "init", r, out);
  }
  buf_puts(out, s->init_containers != 0 ? "]," : "");
  size_t env_at = 0;
  for (unsigned i = 0; i < s->containers; i++) {
    buf_puts(out, i != 0 ? "," : "\"containers\":[");
    size_t at = put_container(g, s, index, i, "c", r, out);
    env_at = i == 0 ? at : env_at;
  }
  buf_printf(out,
             "],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":"
             "%u,\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"%s\","
             "\"nodeName\":\"node-%u\",\"schedulerName\":\"default-scheduler\"",
             30 + (unsigned)(s->parts >> 60), podtext_app(g, index),
             (unsigned)rng_below(r, 100));
  uint64_t few =
      s->bytes < 2 * CONTAINER_BYTES ? s->parts & s->parts >> 11 : s->parts;
  put_parts(SPEC_PARTS, COUNT(SPEC_PARTS), few, out);
  for (unsigned i = 0; i < s->tolerations; i++) {
    buf_printf(out,
               "%s{\"key\":\"example.com/pool-%u\",\"operator\":\"Exists\","
               "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}",
               i != 0 ? "," : ",\"tolerations\":[", i);
  }
  buf_puts(out, s->tolerations != 0 ? "]}" : "}");
  return env_at;
}

/* ---------------------------------------------------------------- status */

static void put_conditions(const shape *s, uint64_t created, uint64_t change,
                           buf *out) {
  for (unsigned i = 0; i < s->conditions; i++) {
    size_t which = (i + s->number) % COUNT(CONDITIONS);
    buf_printf(out,
               "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
               "\"lastTransitionTime\":",
               i != 0 ? "," : "\"conditions\":[", CONDITIONS[which]);
    podtext_time(out, created + i + change);
    buf_putc(out, '}');
  }
  buf_puts(out, "],");
}

static void put_container_status(const podgen *g, uint64_t index,
                                 unsigned number, uint64_t created,
                                 uint64_t change, rng *r, buf *out) {
  buf_printf(out, "%s{\"name\":\"c%u\",\"state\":{\"running\":{\"startedAt\":",
             number != 0 ? "," : ",\"containerStatuses\":[", number);
  podtext_time(out, created + 5 + change);
  buf_printf(out,
             "}},\"lastState\":{},\"ready\":true,\"restartCount\":%llu,"
             "\"image\":\"registry.example.com/shop/%s:v1\",\"imageID\":"
             "\"sha256:%016llx%016llx\",\"containerID\":"
             "\"containerd://%016llx%016llx\",\"started\":true}",
             (unsigned long long)change, podtext_app(g, index),
             (unsigned long long)rng_next(r), (unsigned long long)rng_next(r),
             (unsigned long long)rng_next(r), (unsigned long long)rng_next(r));
}

static void put_status(const podgen *g, const shape *s, uint64_t index,
                       uint64_t created, uint64_t change, rng *r, buf *out) {
  unsigned a = (unsigned)rng_below(r, 256);
  unsigned b = (unsigned)rng_below(r, 256);
  buf_printf(out, ",\"status\":{\"phase\":\"%s\",",
             rng_below(r, 20) == 0 ? "Pending" : "Running");
  put_conditions(s, created, change, out);
  buf_printf(out,
             "\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.244.%u.%u\",\"podIPs\":"
             "[{\"ip\":\"10.244.%u.%u\"}],\"startTime\":",
             a, b, b, a, b, a);
  podtext_time(out, created);
  for (unsigned i = 0; i < s->containers; i++) {
    put_container_status(g, index, i, created, change, r, out);
  }
  buf_puts(out, "],\"qosClass\":\"Burstable\"}");
}

void podshape_render(const podgen *g, uint64_t index, uint64_t version,
                     uint64_t change, buf *out) {
  size_t from = out->len;
  shape s = shape_of(g, index);
  rng r = podtext_rng(g, index);
  rng_next(&r); // the application's name
  uint64_t created = rng_below(&r, 200 * 86400);
  put_identity(g, index, version, &r, out);
  buf_puts(out, ",\"creationTimestamp\":");
  podtext_time(out, created);
  put_labels(g, &s, index, &r, out);
  put_annotations(&s, &r, out);
  put_owner(g, &s, index, out);
  if (s.bytes >= MANAGED_FIELDS_MIN) {
    put_managed_fields(&s, created, change, out);
  }
  buf_putc(out, '}');
  size_t env_at = put_spec(g, &s, index, &r, out);
  put_status(g, &s, index, created, change, &r, out);
  buf_putc(out, '}');
  size_t len = out->len - from - podtext_varying(version, change, s.containers);
  if (len + ENV_MIN < s.bytes) {
    buf env = {0};
    podtext_env(&r, s.bytes - len, &env);
    podtext_insert(out, env_at, &env);
    buf_free(&env);
  }
}
