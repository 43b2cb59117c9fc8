/* SPDX-License-Identifier: MIT */
#include "resource.h"

#include <stdlib.h>
#include <string.h>

typedef struct group_entry {
  const char *name;
  const char *version;
} group_entry;

static const group_entry groups[] = {
    {"admissionregistration.k8s.io", "v1"},
    {"apiextensions.k8s.io", "v1"},
    {"apiregistration.k8s.io", "v1"},
    {"apps", "v1"},
    {"autoscaling", "v2"},
    {"batch", "v1"},
    {"certificates.k8s.io", "v1"},
    {"coordination.k8s.io", "v1"},
    {"discovery.k8s.io", "v1"},
    {"events.k8s.io", "v1"},
    {"flowcontrol.apiserver.k8s.io", "v1"},
    {"networking.k8s.io", "v1"},
    {"node.k8s.io", "v1"},
    {"policy", "v1"},
    {"rbac.authorization.k8s.io", "v1"},
    {"scheduling.k8s.io", "v1"},
    {"storage.k8s.io", "v1"},
};

/* Resources that need no discovery. */
typedef struct builtin_entry {
  const char *plural;
  const char *group;
  bool is_cluster_scoped;
} builtin_entry;

static const builtin_entry builtins[] = {
    {"configmaps", "", false},
    {"endpoints", "", false},
    {"events", "", false},
    {"limitranges", "", false},
    {"persistentvolumeclaims", "", false},
    {"pods", "", false},
    {"podtemplates", "", false},
    {"replicationcontrollers", "", false},
    {"resourcequotas", "", false},
    {"secrets", "", false},
    {"serviceaccounts", "", false},
    {"services", "", false},
    {"namespaces", "", true},
    {"nodes", "", true},
    {"persistentvolumes", "", true},
    {"mutatingwebhookconfigurations", "admissionregistration.k8s.io", true},
    {"validatingadmissionpolicies", "admissionregistration.k8s.io", true},
    {"validatingadmissionpolicybindings", "admissionregistration.k8s.io", true},
    {"validatingwebhookconfigurations", "admissionregistration.k8s.io", true},
    {"customresourcedefinitions", "apiextensions.k8s.io", true},
    {"apiservices", "apiregistration.k8s.io", true},
    {"controllerrevisions", "apps", false},
    {"daemonsets", "apps", false},
    {"deployments", "apps", false},
    {"replicasets", "apps", false},
    {"statefulsets", "apps", false},
    {"horizontalpodautoscalers", "autoscaling", false},
    {"cronjobs", "batch", false},
    {"jobs", "batch", false},
    {"certificatesigningrequests", "certificates.k8s.io", true},
    {"leases", "coordination.k8s.io", false},
    {"endpointslices", "discovery.k8s.io", false},
    {"flowschemas", "flowcontrol.apiserver.k8s.io", true},
    {"prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io", true},
    {"ingressclasses", "networking.k8s.io", true},
    {"ingresses", "networking.k8s.io", false},
    {"ipaddresses", "networking.k8s.io", true},
    {"networkpolicies", "networking.k8s.io", false},
    {"servicecidrs", "networking.k8s.io", true},
    {"runtimeclasses", "node.k8s.io", true},
    {"poddisruptionbudgets", "policy", false},
    {"clusterrolebindings", "rbac.authorization.k8s.io", true},
    {"clusterroles", "rbac.authorization.k8s.io", true},
    {"rolebindings", "rbac.authorization.k8s.io", false},
    {"roles", "rbac.authorization.k8s.io", false},
    {"priorityclasses", "scheduling.k8s.io", true},
    {"csidrivers", "storage.k8s.io", true},
    {"csinodes", "storage.k8s.io", true},
    {"csistoragecapacities", "storage.k8s.io", false},
    {"storageclasses", "storage.k8s.io", true},
    {"volumeattachments", "storage.k8s.io", true},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *group_version(const char *group) {
  for (size_t i = 0; i < COUNT(groups); i++) {
    if (strcmp(groups[i].name, group) == 0) {
      return groups[i].version;
    }
  }
  return NULL;
}

/* `group` NULL: of whichever group. */
static const builtin_entry *find_builtin(const char *plural,
                                         const char *group) {
  for (size_t i = 0; i < COUNT(builtins); i++) {
    if (strcmp(builtins[i].plural, plural) == 0 &&
        (!group || strcmp(builtins[i].group, group) == 0)) {
      return &builtins[i];
    }
  }
  return NULL;
}

static const char *skip_number(const char *s) {
  while (*s >= '0' && *s <= '9') {
    s++;
  }
  return s;
}

/* v[0-9]+((alpha|beta)[0-9]+)? up to the end or a dot; returns what follows, or
 * NULL. */
static const char *skip_version(const char *s) {
  if (s[0] != 'v') {
    return NULL;
  }
  const char *end = skip_number(s + 1);
  if (end == s + 1) {
    return NULL;
  }
  size_t stage = strncmp(end, "alpha", 5) == 0  ? 5
                 : strncmp(end, "beta", 4) == 0 ? 4
                                                : 0;
  if (stage > 0) {
    const char *number = end + stage;
    end = skip_number(number);
    if (end == number) {
      return NULL;
    }
  }
  return *end == '\0' || *end == '.' ? end : NULL;
}

/* Labels of letters, digits and inner hyphens, dots between them. */
static bool is_name(const char *name, bool *has_upper) {
  char before = '.';
  *has_upper = false;
  for (const char *p = name;; p++) {
    bool is_upper = *p >= 'A' && *p <= 'Z';
    bool is_word =
        is_upper || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
    bool ends = *p == '.' || *p == '\0';
    if ((!is_word && *p != '-' && !ends) ||
        (!is_word && (before == '.' || (ends && before == '-')))) {
      return false;
    }
    *has_upper = *has_upper || is_upper;
    if (*p == '\0') {
      return true;
    }
    before = *p;
  }
}

/* kubectl's way to say a version of the core group: "pods.v1.". */
static void cut_empty_group(char *name) {
  const char *dot = strchr(name, '.');
  const char *end = dot ? skip_version(dot + 1) : NULL;
  if (end && strcmp(end, ".") == 0) {
    name[end - name] = '\0';
  }
}

/* Takes `names` apart, in place: plural, plural.group, plural.version or
 * plural.version.group. */
static void split(resource_name *r, char *names) {
  r->plural = names;
  r->group = "";
  char *rest = strchr(names, '.');
  if (!rest) {
    return;
  }
  *rest++ = '\0';
  char *after_version = (char *)skip_version(rest);
  if (!after_version) {
    r->group = rest;
    return;
  }
  r->version = rest;
  if (*after_version == '.') {
    *after_version = '\0';
    r->group = after_version + 1;
  }
}

resource_error resource_parse(resource_name *out, const char *name) {
  *out = (resource_name){0};
  size_t length = strcspn(name, "/");
  bool has_object = name[length] == '/';
  size_t size = strlen(name) + 1;
  char *storage = malloc(size + length + 1);
  if (!storage) {
    return RESOURCE_NO_MEMORY;
  }
  memcpy(storage, name, size);
  char *names = storage + size;
  memcpy(names, name, length);
  names[length] = '\0';
  cut_empty_group(names);
  bool has_upper;
  if (!is_name(names, &has_upper)) {
    free(storage);
    return RESOURCE_MALFORMED;
  }
  resource_name r = {.storage = storage};
  split(&r, names);
  bool has_group = strchr(name, '.') != NULL;
  const builtin_entry *builtin =
      find_builtin(r.plural, has_group ? r.group : NULL);
  bool is_plain = !has_object && !has_upper;
  if (is_plain && builtin) {
    r.is_cluster_scoped = builtin->is_cluster_scoped;
    r.group = builtin->group;
    if (!r.version) {
      r.version = *r.group ? group_version(r.group) : "v1";
    }
  } else {
    r.word = storage;
    if (!is_plain || !r.version) {
      r.plural = storage;
      r.version = NULL;
      r.group = NULL;
    }
  }
  *out = r;
  return RESOURCE_OK;
}

void resource_finish(resource_name *name) {
  free(name->storage);
  *name = (resource_name){0};
}
