/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

typedef struct builtin {
  const char *group, *version, *plural, *singular, *kind, *short_names;
  const char *category;
  const char *zero;
  bool namespaced, has_generation, has_status;
  bool put_creates, needs_version, one_by_one, label_names;
} builtin;

#define ZERO_TEMPLATE                                                          \
  "\"selector\":null,\"template\":{\"metadata\":{},\"spec\":{\"containers\":"  \
  "null}}"

/* clang-format off */
static const builtin BUILTINS[] = {
  {"", "v1", "configmaps", "configmap", "ConfigMap", "\"cm\"", "", "",
   true, false, false},
  {"", "v1", "events", "event", "Event", "\"ev\"", "",
   ",\"involvedObject\":{},\"source\":{},\"firstTimestamp\":null,"
   "\"lastTimestamp\":null,\"eventTime\":null,\"reportingComponent\":\"\","
   "\"reportingInstance\":\"\"",
   true, false, false, true},
  {"", "v1", "namespaces", "namespace", "Namespace", "\"ns\"", "",
   ",\"spec\":{},\"status\":{}", false, false, true, false, false, true, true},
  {"", "v1", "nodes", "node", "Node", "\"no\"", "",
   ",\"spec\":{},\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":"
   "{\"Port\":0}},\"nodeInfo\":{\"machineID\":\"\",\"systemUUID\":\"\","
   "\"bootID\":\"\",\"kernelVersion\":\"\",\"osImage\":\"\","
   "\"containerRuntimeVersion\":\"\",\"kubeletVersion\":\"\","
   "\"kubeProxyVersion\":\"\",\"operatingSystem\":\"\",\"architecture\":\"\"}}",
   false, false, true},
  {"", "v1", "pods", "pod", "Pod", "\"po\"", "all",
   ",\"spec\":{\"containers\":null},\"status\":{}", true, true, true},
  {"", "v1", "secrets", "secret", "Secret", "", "", "", true, false, false},
  {"", "v1", "services", "service", "Service", "\"svc\"", "all",
   ",\"spec\":{},\"status\":{\"loadBalancer\":{}}",
   true, false, true, true, false, false, true},
  {"apps", "v1", "deployments", "deployment", "Deployment", "\"deploy\"",
   "all", ",\"spec\":{" ZERO_TEMPLATE ",\"strategy\":{}},\"status\":{}",
   true, true, true},
  {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", "\"rs\"", "all",
   ",\"spec\":{" ZERO_TEMPLATE "},\"status\":{\"replicas\":0}",
   true, true, true},
  {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "", "",
   ",\"spec\":{}", true, false, false, true, true},
  {"discovery.k8s.io", "v1", "endpointslices", "endpointslice",
   "EndpointSlice", "", "",
   ",\"addressType\":\"\",\"endpoints\":null,\"ports\":null",
   true, true, false},
  {"apiextensions.k8s.io", "v1", "customresourcedefinitions",
   "customresourcedefinition", "CustomResourceDefinition",
   "\"crd\",\"crds\"", "api-extensions",
   ",\"spec\":{\"group\":\"\",\"names\":{\"plural\":\"\",\"kind\":\"\"},"
   "\"scope\":\"\",\"versions\":null},\"status\":{\"conditions\":null,"
   "\"acceptedNames\":{\"plural\":\"\",\"kind\":\"\"},"
   "\"storedVersions\":null}",
   false, true, true, false, true},
};
/* clang-format on */

static char *join(const char *a, const char *sep, const char *b) {
  buf text = {0};
  buf_printf(&text, "%s%s%s", a, sep, b);
  return text.data;
}

/* Takes nothing; names group, version, plural, singular and kind are copied. */
static resource *add(registry *reg, const char *group, const char *version,
                     const char *plural, const char *singular,
                     const char *kind) {
  resource *res = xcalloc(1, sizeof *res);
  res->group = xstrdup(group);
  res->version = xstrdup(version);
  res->plural = xstrdup(plural);
  res->singular = xstrdup(singular);
  res->kind = xstrdup(kind);
  res->short_names = xstrdup("");
  res->category = "";
  res->zero = "";
  bool core = *group == '\0';
  res->api_version = core ? xstrdup(version) : join(group, "/", version);
  res->qualified = core ? xstrdup(plural) : join(plural, ".", group);
  res->served = true;
  res->table = store_add_table(reg->store, res);
  resource **end = &reg->first;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = res;
  return res;
}

static void set_custom(resource *res, bool namespaced) {
  res->custom = true;
  res->namespaced = namespaced;
  res->has_generation = true;
  res->has_status = true;
  res->needs_version = true;
}

void registry_init(registry *reg, store *st) {
  *reg = (registry){.store = st};
  for (size_t i = 0; i < sizeof BUILTINS / sizeof BUILTINS[0]; i++) {
    const builtin *b = &BUILTINS[i];
    resource *res =
        add(reg, b->group, b->version, b->plural, b->singular, b->kind);
    free(res->short_names);
    res->short_names = xstrdup(b->short_names);
    res->category = b->category;
    res->zero = b->zero;
    res->namespaced = b->namespaced;
    res->has_generation = b->has_generation;
    res->has_status = b->has_status;
    res->put_creates = b->put_creates;
    res->needs_version = b->needs_version;
    res->one_by_one = b->one_by_one;
    res->label_names = b->label_names;
    res->has_pod_fields = strcmp(b->plural, "pods") == 0;
  }
}

void registry_finish(registry *reg) {
  while (reg->first != NULL) {
    resource *res = reg->first;
    reg->first = res->next;
    free(res->group);
    free(res->version);
    free(res->plural);
    free(res->singular);
    free(res->kind);
    free(res->short_names);
    free(res->api_version);
    free(res->qualified);
    yyjson_doc_free(res->schema);
    free(res);
  }
}

static resource *find_any(const registry *reg, const char *group,
                          const char *version, const char *plural) {
  for (resource *res = reg->first; res != NULL; res = res->next) {
    if (strcmp(res->plural, plural) == 0 && strcmp(res->group, group) == 0 &&
        strcmp(res->version, version) == 0) {
      return res;
    }
  }
  return NULL;
}

resource *registry_find(const registry *reg, const char *group,
                        const char *version, const char *plural) {
  resource *res = find_any(reg, group, version, plural);
  return res != NULL && res->served ? res : NULL;
}

resource *registry_next_of_plural(const registry *reg, const resource *after,
                                  const char *plural) {
  resource *res = after == NULL ? reg->first : after->next;
  while (res != NULL && strcmp(res->plural, plural) != 0) {
    res = res->next;
  }
  return res;
}

resource *registry_next_of_group(const registry *reg, const resource *after,
                                 const char *group, const char *plural) {
  resource *res = after == NULL ? reg->first : after->next;
  while (res != NULL &&
         (strcmp(res->group, group) != 0 || strcmp(res->plural, plural) != 0)) {
    res = res->next;
  }
  return res;
}

/* ----------------------------------------------------- declared by option */

static bool is_dns_name(const char *text) {
  if (*text == '\0' || strlen(text) > 253) {
    return false;
  }
  for (const char *c = text; *c != '\0'; c++) {
    if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) &&
        *c != '-' && *c != '.') {
      return false;
    }
  }
  return true;
}

static bool is_kind(const char *text) {
  for (const char *c = text; *c != '\0'; c++) {
    if (!isalnum((unsigned char)*c)) {
      return false;
    }
  }
  return isupper((unsigned char)*text) && strlen(text) <= 63;
}

/* widgets -> widget, policies -> policy, boxes -> box */
static char *singular_of(const char *plural) {
  size_t len = strlen(plural);
  if (len > 3 && strcmp(plural + len - 3, "ies") == 0) {
    char *text = xstrndup(plural, len - 2);
    text[len - 3] = 'y';
    return text;
  }
  if (len > 3 && strcmp(plural + len - 3, "xes") == 0) {
    return xstrndup(plural, len - 2);
  }
  bool ends_s = len > 1 && plural[len - 1] == 's';
  return xstrndup(plural, ends_s ? len - 1 : len);
}

static bool add_declared(registry *reg, char *name, const char *kind,
                         bool namespaced, buf *error) {
  char *version = strchr(name, '.');
  char *group = version != NULL ? strchr(version + 1, '.') : NULL;
  if (group == NULL) {
    buf_puts(error, "expected plural.version.group");
    return false;
  }
  *version++ = '\0';
  *group++ = '\0';
  if (!is_dns_name(name) || !is_dns_name(version) || !is_dns_name(group)) {
    buf_puts(error, "not a valid plural, version or group");
    return false;
  }
  if (find_any(reg, group, version, name) != NULL) {
    buf_puts(error, "already declared");
    return false;
  }
  char *singular = singular_of(name);
  char *made_kind = xstrdup(singular);
  made_kind[0] = (char)toupper((unsigned char)made_kind[0]);
  set_custom(
      add(reg, group, version, name, singular, kind != NULL ? kind : made_kind),
      namespaced);
  free(singular);
  free(made_kind);
  return true;
}

bool registry_add_text(registry *reg, const char *text, buf *error) {
  char *copy = xstrdup(text);
  char *rest = strchr(copy, ':');
  const char *kind = NULL;
  bool namespaced = true;
  bool ok = true;
  while (rest != NULL && ok) {
    *rest++ = '\0';
    char *word = rest;
    rest = strchr(rest, ':');
    size_t len = rest != NULL ? (size_t)(rest - word) : strlen(word);
    if (strncmp(word, "cluster", len) == 0 && len == 7) {
      namespaced = false;
    } else if (strncmp(word, "namespaced", len) != 0 || len != 10) {
      char saved = word[len];
      word[len] = '\0';
      ok = is_kind(word);
      word[len] = saved;
      kind = word;
    }
  }
  if (!ok) {
    buf_puts(error, "expected a Kind, namespaced or cluster after ':'");
  } else {
    ok = add_declared(reg, copy, kind, namespaced, error);
  }
  free(copy);
  return ok;
}

/* ------------------------------------------ CustomResourceDefinitions */

static const char *text_at(yyjson_val *object, const char *key,
                           const char *otherwise) {
  const char *text = yyjson_get_str(yyjson_obj_get(object, key));
  return text != NULL ? text : otherwise;
}

static void set_short_names(resource *res, yyjson_val *names) {
  buf text = {0};
  buf_puts(&text, "");
  size_t i, max;
  yyjson_val *item;
  yyjson_arr_foreach(yyjson_obj_get(names, "shortNames"), i, max, item) {
    if (yyjson_is_str(item)) {
      buf_puts(&text, text.len != 0 ? "," : "");
      buf_put_json(&text, yyjson_get_str(item), yyjson_get_len(item));
    }
  }
  free(res->short_names);
  res->short_names = text.data;
}

/* The version's schema of its objects; without one anything goes. */
static void set_schema(resource *res, yyjson_val *version) {
  yyjson_val *schema =
      yyjson_obj_get(yyjson_obj_get(version, "schema"), "openAPIV3Schema");
  yyjson_doc_free(res->schema);
  res->schema = NULL;
  if (yyjson_is_obj(schema)) {
    yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, schema));
    res->schema = yyjson_mut_doc_imut_copy(copy, NULL);
    yyjson_mut_doc_free(copy);
  }
}

static bool has_status(yyjson_val *version) {
  yyjson_val *subresources = yyjson_obj_get(version, "subresources");
  return yyjson_is_obj(yyjson_obj_get(subresources, "status"));
}

static bool is_served(yyjson_val *version) {
  yyjson_val *served = yyjson_obj_get(version, "served");
  return served == NULL || yyjson_is_true(served);
}

static void set_text(char **to, const char *text) {
  free(*to);
  *to = xstrdup(text);
}

/* A definition that comes again may differ from the one that was deleted. The
 * keys of objects that are there depend on the scope. */
static void set_names(resource *res, yyjson_val *names, bool namespaced) {
  char *guess = singular_of(res->plural);
  const char *singular = text_at(names, "singular", guess);
  set_text(&res->singular, is_dns_name(singular) ? singular : guess);
  set_text(&res->kind, text_at(names, "kind", res->kind));
  free(guess);
  set_short_names(res, names);
  bool has_objects = table_live_count(res->table) != 0;
  set_custom(res, has_objects ? res->namespaced : namespaced);
}

/* The one of a version, added if there is none. NULL if it is not a
 * definition's. */
static resource *defined(registry *reg, const char *group, const char *version,
                         const char *plural) {
  resource *res = find_any(reg, group, version, plural);
  if (res == NULL) {
    res = add(reg, group, version, plural, "", "");
    res->custom = true;
    res->defined = true;
  }
  return res->custom ? res : NULL;
}

void registry_forget_crds(registry *reg) {
  for (resource *res = reg->first; res != NULL; res = res->next) {
    res->served = !res->defined;
  }
}

void registry_apply_crd(registry *reg, yyjson_val *crd) {
  yyjson_val *spec = yyjson_obj_get(crd, "spec");
  yyjson_val *names = yyjson_obj_get(spec, "names");
  const char *group = text_at(spec, "group", "");
  const char *plural = text_at(names, "plural", "");
  const char *kind = text_at(names, "kind", "");
  if (!is_dns_name(group) || !is_dns_name(plural) || !is_kind(kind)) {
    return;
  }
  bool namespaced =
      strcmp(text_at(spec, "scope", "Namespaced"), "Cluster") != 0;
  resource *res = NULL;
  while ((res = registry_next_of_group(reg, res, group, plural)) != NULL) {
    res->served = res->served && !res->defined;
  }
  size_t i, max;
  yyjson_val *version;
  yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, max, version) {
    const char *name = text_at(version, "name", "");
    if (!is_dns_name(name)) {
      continue;
    }
    res = defined(reg, group, name, plural);
    if (res != NULL) {
      res->served = is_served(version);
      set_names(res, names, namespaced);
      res->has_status = has_status(version);
      set_schema(res, version);
    }
  }
}
