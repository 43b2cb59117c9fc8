/* SPDX-License-Identifier: MIT */
#include "object.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

bool object_depth_ok(const char *text, size_t len) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < len; i++) {
    char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > OBJECT_DEPTH_MAX) {
        return false;
      }
    } else if ((c == '}' || c == ']') && depth != 0) {
      depth--;
    }
  }
  return true;
}

yyjson_mut_doc *object_of(const rev *r) {
  yyjson_doc *doc =
      yyjson_read(r->json->data, r->json->len, YYJSON_READ_NUMBER_AS_RAW);
  yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
  yyjson_doc_free(doc);
  return copy;
}

/* --------------------------------------------------------------- members */

yyjson_mut_val *object_meta(yyjson_mut_doc *doc) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *meta = yyjson_mut_obj_get(root, "metadata");
  if (!yyjson_mut_is_obj(meta)) {
    meta = yyjson_mut_obj(doc);
    object_set(doc, root, "metadata", meta);
  }
  return meta;
}

const char *object_text(yyjson_mut_val *object, const char *key) {
  return yyjson_mut_get_str(yyjson_mut_obj_get(object, key));
}

void object_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value) {
  yyjson_mut_obj_put(object, yyjson_mut_strcpy(doc, key), value);
}

void object_set_text(yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const char *key, const char *text) {
  object_set(doc, object, key, yyjson_mut_strcpy(doc, text));
}

void object_set_number(yyjson_mut_doc *doc, yyjson_mut_val *object,
                       const char *key, uint64_t number) {
  buf digits = {0};
  buf_put_u64(&digits, number);
  object_set(doc, object, key, yyjson_mut_rawcpy(doc, digits.data));
  buf_free(&digits);
}

void object_remove(yyjson_mut_val *object, const char *key) {
  yyjson_mut_obj_remove_key(object, key);
}

uint64_t object_number(yyjson_mut_val *object, const char *key) {
  yyjson_mut_val *value = yyjson_mut_obj_get(object, key);
  uint64_t number = 0;
  if (yyjson_mut_is_raw(value)) {
    slice_to_u64((slice){yyjson_mut_get_raw(value), yyjson_mut_get_len(value)},
                 &number);
  }
  return number;
}

typedef struct place {
  yyjson_mut_val *key;
  size_t index;
} place;

static int by_name(const void *a, const void *b) {
  const place *one = a;
  const place *two = b;
  int order =
      strcmp(yyjson_mut_get_str(one->key), yyjson_mut_get_str(two->key));
  return order != 0 ? order
                    : (one->index > two->index) - (one->index < two->index);
}

static void drop_members(yyjson_mut_val *object) {
  size_t count = yyjson_mut_obj_size(object);
  place *places = xcalloc(count, sizeof *places);
  bool *repeated = xcalloc(count, sizeof *repeated);
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(object, i, max, key, value) {
    object_drop_repeats(value);
    places[i] = (place){key, i};
  }
  qsort(places, count, sizeof *places, by_name);
  for (i = 1; i < count; i++) {
    repeated[places[i - 1].index] =
        strcmp(yyjson_mut_get_str(places[i - 1].key),
               yyjson_mut_get_str(places[i].key)) == 0;
  }
  yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(object);
  for (i = 0; yyjson_mut_obj_iter_next(&it) != NULL; i++) {
    if (repeated[i]) {
      yyjson_mut_obj_iter_remove(&it);
    }
  }
  free(places);
  free(repeated);
}

void object_drop_repeats(yyjson_mut_val *value) {
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(value, i, max, item) {
    object_drop_repeats(item);
  }
  if (yyjson_mut_obj_size(value) != 0) {
    drop_members(value);
  }
}

bool object_is_held(yyjson_mut_val *meta) {
  return yyjson_mut_arr_size(yyjson_mut_obj_get(meta, "finalizers")) != 0;
}

static bool is_content(const resource *res, yyjson_mut_val *key) {
  bool counts_status = res->custom && !res->has_status;
  return !yyjson_mut_equals_str(key, "kind") &&
         !yyjson_mut_equals_str(key, "apiVersion") &&
         !yyjson_mut_equals_str(key, "metadata") &&
         (counts_status || !yyjson_mut_equals_str(key, "status"));
}

/* Whether b lacks or changes any content member of a. */
static bool lost_in(const resource *res, yyjson_mut_val *a, yyjson_mut_val *b) {
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(a, i, max, key, value) {
    if (is_content(res, key) &&
        !yyjson_mut_equals(value,
                           yyjson_mut_obj_getn(b, yyjson_mut_get_str(key),
                                               yyjson_mut_get_len(key)))) {
      return true;
    }
  }
  return false;
}

bool object_content_differs(const resource *res, yyjson_mut_doc *a,
                            yyjson_mut_doc *b) {
  yyjson_mut_val *one = yyjson_mut_doc_get_root(a);
  yyjson_mut_val *two = yyjson_mut_doc_get_root(b);
  return lost_in(res, one, two) || lost_in(res, two, one);
}

/* -------------------------------------------------------------- defaults */

/* Adds to object every member of json that it does not have. */
static void default_members(yyjson_mut_doc *doc, yyjson_mut_val *object,
                            const char *json) {
  yyjson_doc *parsed =
      yyjson_read(json, strlen(json), YYJSON_READ_NUMBER_AS_RAW);
  size_t i, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(yyjson_doc_get_root(parsed), i, max, key, value) {
    if (yyjson_mut_obj_get(object, yyjson_get_str(key)) == NULL) {
      object_set(doc, object, yyjson_get_str(key),
                 yyjson_val_mut_copy(doc, value));
    }
  }
  yyjson_doc_free(parsed);
}

static yyjson_mut_val *member_object(yyjson_mut_doc *doc,
                                     yyjson_mut_val *object, const char *key) {
  yyjson_mut_val *value = yyjson_mut_obj_get(object, key);
  if (!yyjson_mut_is_obj(value)) {
    value = yyjson_mut_obj(doc);
    object_set(doc, object, key, value);
  }
  return value;
}

static const char CONTAINER_DEFAULTS[] =
    "{\"resources\":{},\"terminationMessagePath\":\"/dev/termination-log\","
    "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
    "\"IfNotPresent\"}";

static const char POD_SPEC_DEFAULTS[] =
    "{\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
    "\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{},"
    "\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
    "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
    "\"NoExecute\",\"tolerationSeconds\":300},{\"key\":"
    "\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":"
    "\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0,"
    "\"enableServiceLinks\":true,\"preemptionPolicy\":"
    "\"PreemptLowerPriority\"}";

static void default_pod(yyjson_mut_doc *doc, yyjson_mut_val *root) {
  yyjson_mut_val *spec = member_object(doc, root, "spec");
  yyjson_mut_val *status = member_object(doc, root, "status");
  size_t i, max;
  yyjson_mut_val *container;
  yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "containers"), i, max,
                         container) {
    if (yyjson_mut_is_obj(container)) {
      default_members(doc, container, CONTAINER_DEFAULTS);
    }
  }
  default_members(doc, spec, POD_SPEC_DEFAULTS);
  default_members(doc, status,
                  "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}");
}

static void default_namespace(yyjson_mut_doc *doc, yyjson_mut_val *root) {
  yyjson_mut_val *meta = object_meta(doc);
  const char *name = object_text(meta, "name");
  yyjson_mut_val *labels = member_object(doc, meta, "labels");
  object_set_text(doc, labels, "kubernetes.io/metadata.name", name);
  default_members(doc, member_object(doc, root, "spec"),
                  "{\"finalizers\":[\"kubernetes\"]}");
  default_members(doc, member_object(doc, root, "status"),
                  "{\"phase\":\"Active\"}");
}

/* The version of a definition in which a server would store objects. */
static const char *storage_version(yyjson_mut_val *root) {
  size_t i, max;
  yyjson_mut_val *version;
  yyjson_mut_arr_foreach(
      yyjson_mut_obj_get(yyjson_mut_obj_get(root, "spec"), "versions"), i, max,
      version) {
    const char *name = object_text(version, "name");
    if (name != NULL &&
        yyjson_mut_is_true(yyjson_mut_obj_get(version, "storage"))) {
      return name;
    }
  }
  return "v1"; /* a real server refuses such a definition */
}

static void default_definition(yyjson_mut_doc *doc, yyjson_mut_val *root,
                               const char *now) {
  yyjson_mut_val *status = member_object(doc, root, "status");
  buf text = {0};
  buf_printf(&text,
             "{\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\","
             "\"lastTransitionTime\":\"%s\",\"reason\":\"NoConflicts\","
             "\"message\":\"no conflicts found\"},{\"type\":\"Established\","
             "\"status\":\"True\",\"lastTransitionTime\":\"%s\",\"reason\":"
             "\"InitialNamesAccepted\",\"message\":\"the initial names have "
             "been accepted\"}],\"storedVersions\":[",
             now, now);
  const char *stored = storage_version(root);
  buf_put_json(&text, stored, strlen(stored));
  buf_puts(&text, "]}");
  default_members(doc, status, text.data);
  buf_free(&text);
}

void object_default(yyjson_mut_doc *doc, const resource *res) {
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  if (strcmp(res->kind, "Pod") == 0 && !res->custom) {
    default_pod(doc, root);
  } else if (strcmp(res->kind, "Namespace") == 0 && !res->custom) {
    default_namespace(doc, root);
  } else if (strcmp(res->kind, "CustomResourceDefinition") == 0) {
    default_definition(doc, root,
                       object_text(object_meta(doc), "creationTimestamp"));
  }
}

/* ------------------------------------------------------------- rendering */

/* Moves a member to the end of its object. */
static void move_to_end(yyjson_mut_doc *doc, yyjson_mut_val *object,
                        const char *key) {
  yyjson_mut_val *value = yyjson_mut_obj_remove_key(object, key);
  if (value != NULL) {
    object_set(doc, object, key, value);
  }
}

const char *const OBJECT_META_ORDER[OBJECT_META_COUNT] = {
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
};

/* Members outside the order are unknown to the typed object, which a real
 * server drops; so they go, and those that are null. The metadata of a custom
 * resource is typed, too. */
static void order_meta(yyjson_mut_doc *doc, yyjson_mut_val *root) {
  yyjson_mut_val *from = object_meta(doc);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  for (size_t i = 0; i < OBJECT_META_COUNT; i++) {
    yyjson_mut_val *value =
        yyjson_mut_obj_remove_key(from, OBJECT_META_ORDER[i]);
    if (value != NULL && !yyjson_mut_is_null(value)) {
      object_set(doc, to, OBJECT_META_ORDER[i], value);
    }
  }
  object_set(doc, root, "metadata", to);
}

/* Moves every member of from to the end of to. */
static void move_members(yyjson_mut_val *to, yyjson_mut_val *from) {
  yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(from);
  yyjson_mut_val *key;
  while ((key = yyjson_mut_obj_iter_next(&it)) != NULL) {
    yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
    yyjson_mut_obj_iter_remove(&it);
    yyjson_mut_obj_add(to, key, value);
  }
}

static void order_typed(yyjson_mut_doc *doc, const resource *res) {
  yyjson_mut_val *from = yyjson_mut_doc_get_root(doc);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  object_set_text(doc, root, "kind", res->kind);
  object_set_text(doc, root, "apiVersion", res->api_version);
  order_meta(doc, root);
  object_remove(from, "kind");
  object_remove(from, "apiVersion");
  object_remove(from, "metadata");
  move_members(root, from);
  move_to_end(doc, root, "status");
  yyjson_mut_doc_set_root(doc, root);
}

static int by_key(const void *a, const void *b) {
  yyjson_mut_val *const *one = a;
  yyjson_mut_val *const *two = b;
  return strcmp(yyjson_mut_get_str(*one), yyjson_mut_get_str(*two));
}

void object_sort(yyjson_mut_val *value) {
  size_t i, max;
  yyjson_mut_val *item, *key;
  if (yyjson_mut_is_arr(value)) {
    yyjson_mut_arr_foreach(value, i, max, item) {
      object_sort(item);
    }
    return;
  }
  if (!yyjson_mut_is_obj(value)) {
    return;
  }
  size_t count = yyjson_mut_obj_size(value);
  yyjson_mut_val **keys = xcalloc(count, sizeof(yyjson_mut_val *));
  yyjson_mut_val **values = xcalloc(count, sizeof(yyjson_mut_val *));
  yyjson_mut_obj_foreach(value, i, max, key, item) {
    object_sort(item);
    keys[i] = key;
  }
  qsort(keys, count, sizeof keys[0], by_key);
  for (i = 0; i < count; i++) {
    values[i] = yyjson_mut_obj_iter_get_val(keys[i]);
  }
  yyjson_mut_obj_clear(value);
  for (i = 0; i < count; i++) {
    yyjson_mut_obj_add(value, keys[i], values[i]);
  }
  free(keys);
  free(values);
}

/* The length of the escape Go uses for the byte at at, 0 if it uses none. */
static size_t special_len(const char *at, size_t left) {
  if (*at == '<' || *at == '>' || *at == '&') {
    return 1;
  }
  bool separator = left >= 3 && memcmp(at, "\xe2\x80", 2) == 0 &&
                   (at[2] == '\xa8' || at[2] == '\xa9');
  return separator ? 3 : 0;
}

/* These bytes occur in strings only, so the text can be escaped as a whole. */
static blob *escape_like_go(const char *text, size_t len) {
  buf out = {0};
  buf_reserve(&out, len + 64);
  size_t from = 0;
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c != '<' && c != '>' && c != '&' && c != 0xe2) {
      continue;
    }
    size_t special = special_len(text + i, len - i);
    if (special == 0) {
      continue;
    }
    buf_append(&out, text + from, i - from);
    if (special == 1) {
      buf_printf(&out, "\\u%04x", c);
    } else {
      buf_puts(&out, text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
    }
    i += special - 1;
    from = i + 1;
  }
  buf_append(&out, text + from, len - from);
  blob *b = blob_copy(out.data, out.len);
  buf_free(&out);
  return b;
}

blob *object_render(yyjson_mut_doc *doc, const resource *res) {
  if (res->custom) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    object_set_text(doc, root, "kind", res->kind);
    object_set_text(doc, root, "apiVersion", res->api_version);
    order_meta(doc, root);
    object_sort(root);
  } else {
    order_typed(doc, res);
  }
  size_t len = 0;
  char *text = yyjson_mut_write(doc, 0, &len);
  if (text == NULL) {
    text = xstrdup("{\"metadata\":{}}");
    len = strlen(text);
  }
  blob *b = escape_like_go(text, len);
  free(text);
  return b;
}
