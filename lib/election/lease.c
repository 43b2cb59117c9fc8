/* SPDX-License-Identifier: MIT */
#include "election/lease.h"

#include <kin/error.h>
#include <kin/object_builder.h>

#include "base/str.h"
#include "object/object.h"
#include "object/text.h"

#define MICRO_DIGITS 6u
#define RELEASED_DURATION_S 1 /* CN-12 */

/* --- Reading -------------------------------------------------------------- */

static kin_str find_spec(kin_str text) {
  kin__text_members members = {.text = text};
  while (kin__text_next(&members)) {
    if (kin__text_name_is(members.name, KIN__LIT("spec"))) {
      return members.value;
    }
  }
  return KIN__LIT("");
}

static int read_string(kin_object_view *view, const char *pointer,
                       kin_str *value) {
  int err = kin_object_view_string(view, pointer, value);
  return err == KIN_ENOENT ? 0 : err;
}

static int read_seconds(kin_object_view *view, const char *pointer,
                        uint32_t *value) {
  int64_t found = 0;
  int err = kin_object_view_int(view, pointer, &found);
  if (err == 0) {
    *value = found < 0 ? 0 : found > UINT32_MAX ? UINT32_MAX : (uint32_t)found;
  }
  return err == KIN_ENOENT ? 0 : err;
}

static int read_spec(kin__lease *lease) {
  kin_str preferred = KIN__LIT("");
  int err = read_string(lease->view, "/spec/holderIdentity", &lease->holder);
  if (err == 0) {
    err = read_seconds(lease->view, "/spec/leaseDurationSeconds",
                       &lease->duration_s);
  }
  if (err == 0) {
    err = read_string(lease->view, "/spec/preferredHolder", &preferred);
  }
  lease->has_preferred_holder = preferred.length > 0;
  (void)kin_object_view_int(lease->view, "/spec/leaseTransitions",
                            &lease->transitions);
  return err;
}

int kin__lease_read(kin__lease *lease, kin_object *object) {
  *lease = (kin__lease){.object = object, .holder = KIN__LIT("")};
  int err = kin_object_view_open(&lease->view, object);
  if (err == 0) {
    lease->spec = find_spec(kin_object_view_json(lease->view));
    err = read_spec(lease);
  }
  if (err != 0) {
    kin__lease_finish(lease);
  }
  return err;
}

void kin__lease_finish(kin__lease *lease) {
  kin_object_view_close(lease->view);
  kin__object_unref(lease->object);
  *lease = (kin__lease){
      .object = NULL, .spec = KIN__LIT(""), .holder = KIN__LIT("")};
}

/* --- Writing -------------------------------------------------------------- */

/* A place as a JSON Pointer: "/metadata/labels/", and the key with its
 * escapes. */
static int append_label_pointer(kin__buf *out, const char *key) {
  int err = kin__buf_append_cstr(out, "/metadata/labels/");
  for (; *key != '\0' && err == 0; key++) {
    if (*key == '~' || *key == '/') {
      err = kin__buf_append_cstr(out, *key == '~' ? "~0" : "~1");
    } else {
      err = kin__buf_append(out, key, 1);
    }
  }
  return err == 0 ? kin__buf_append(out, "", 1) : err;
}

/* LE-10: only these keys are overwritten. */
static int set_labels(kin_object_builder *builder,
                      const kin_allocator *allocator,
                      const kin__lease_terms *terms) {
  kin__buf pointer;
  kin__buf_init(&pointer, allocator, 4096);
  int err = 0;
  for (size_t i = 0; i < terms->label_count && err == 0; i++) {
    kin__buf_reset(&pointer, SIZE_MAX);
    err = append_label_pointer(&pointer, terms->labels[i].name);
    if (err == 0) {
      err = kin_object_builder_set_string(
          builder, pointer.data, kin__or_default(terms->labels[i].value, ""));
    }
  }
  kin__buf_finish(&pointer);
  return err;
}

static void set_new(kin_object_builder *builder,
                    const kin__lease_terms *terms) {
  kin_object_builder_set_string(builder, "/apiVersion", KIN__LEASE_GROUP "/v1");
  kin_object_builder_set_string(builder, "/kind", "Lease");
  kin_object_builder_set_string(builder, "/metadata/name", terms->name);
  kin_object_builder_set_string(builder, "/metadata/namespace",
                                terms->namespace_);
}

static void set_transitions(kin_object_builder *builder,
                            const kin__lease *lease) {
  int64_t transitions = lease->transitions;
  if (lease->view != NULL) {
    /* The field has 32 bits. */
    transitions = transitions >= 0 && transitions < INT32_MAX ? transitions + 1
                                                              : transitions;
  }
  kin_object_builder_set_int(builder, "/spec/leaseTransitions", transitions);
}

/* Errors of a builder stick, so only the last call is looked at. */
static int set_spec(kin_object_builder *builder, const kin__lease *lease,
                    const kin__lease_terms *terms, kin__elector_request request,
                    kin__timestamp now) {
  char time[KIN__TIMESTAMP_MAX];
  (void)kin__timestamp_format(time, now, MICRO_DIGITS);
  bool is_release = request == KIN__ELECTOR_RELEASE;
  kin_object_builder_set_string(builder, "/spec/holderIdentity",
                                is_release ? "" : terms->identity);
  kin_object_builder_set_int(builder, "/spec/leaseDurationSeconds",
                             is_release ? RELEASED_DURATION_S
                                        : (int64_t)terms->duration_s);
  if (request != KIN__ELECTOR_RENEW) {
    kin_object_builder_set_string(builder, "/spec/acquireTime", time);
  }
  if (request == KIN__ELECTOR_CREATE || request == KIN__ELECTOR_TAKE) {
    set_transitions(builder, lease);
  }
  return kin_object_builder_set_string(builder, "/spec/renewTime", time);
}

int kin__lease_write(kin__buf *out, kin_object_builder *builder, int err) {
  if (err != 0) {
    kin_object_builder_free(builder);
    return err;
  }
  kin_object *made;
  err = kin_object_builder_finish(builder, &made);
  if (err == 0) {
    err = kin__buf_append_str(out, kin__object_body(made));
    kin__object_unref(made);
  }
  return err;
}

int kin__lease_compose(kin__buf *out, const kin_allocator *allocator,
                       const kin__lease *lease, const kin__lease_terms *terms,
                       kin__elector_request request, kin__timestamp now) {
  const kin__lease nothing = {.object = NULL};
  const kin__lease *base = request == KIN__ELECTOR_CREATE ? &nothing : lease;
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, allocator, base->object);
  if (err != 0) {
    return err;
  }
  if (request == KIN__ELECTOR_CREATE) {
    set_new(builder, terms);
  }
  err = set_labels(builder, allocator, terms);
  if (err == 0) {
    err = set_spec(builder, base, terms, request, now);
  }
  return kin__lease_write(out, builder, err);
}
