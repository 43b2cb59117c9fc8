/* SPDX-License-Identifier: MIT */

/* Making the object of a builder. Writing the tree of edits gives the new text
 * and the places of uid, version and labels in it. So nothing is parsed again,
 * and the object keeps them as offsets into its text. */
#include "object/builder.h"

#include <kin/error.h>

#include "base/str.h"
#include "object/object.h"
#include "object/text.h"

/* The members of metadata that identify an object. */
enum { NAMESPACE, NAME, UID, VERSION, IDENTITY };

static const kin_str identity_names[IDENTITY] = {
    [NAMESPACE] = {"namespace", 9},
    [NAME] = {"name", 4},
    [UID] = {"uid", 3},
    [VERSION] = {"resourceVersion", 15},
};

static kin_str identity_of(const kin_object *object, int which) {
  switch (which) {
  case NAMESPACE:
    return kin_object_namespace(object);
  case NAME:
    return kin_object_name(object);
  case UID:
    return kin_object_uid(object);
  default:
    return kin_object_resource_version(object);
  }
}

static int set_identity(kin_object_builder *builder, int which) {
  static const char *const pointers[IDENTITY] = {
      "/metadata/namespace", "/metadata/name", "/metadata/uid",
      "/metadata/resourceVersion"};
  kin_str value = identity_of(builder->from, which);
  if (value.length == 0) {
    return 0;
  }
  kin_str text = kin__edit_quote(&builder->edit, value);
  return text.data != NULL
             ? kin__edit_set(&builder->edit, pointers[which], text)
             : KIN_ENOMEM;
}

int kin__builder_set_key(kin_object_builder *builder) {
  int err = 0;
  for (int i = 0; err == 0 && i < IDENTITY; i++) {
    err = set_identity(builder, i);
  }
  builder->edit.is_changed = false;
  return err;
}

/* The members of metadata that become resident; NULL: absent. */
typedef struct members {
  kin__edit_node *identity[IDENTITY];
  kin_str strings[IDENTITY]; /* unescaped; empty: no string */
  kin__edit_node *labels;
} members;

/* *value gets the member's string, unescaped; empty if the member is no string.
 * Valid as long as the tree. The text of a string is never split. */
static int string_of(kin_object_builder *builder, const kin__edit_node *member,
                     kin_str *value) {
  kin_str text = member != NULL ? member->text : KIN__LIT("");
  *value = KIN__LIT("");
  if (text.length < 2 || text.data[0] != '"') {
    return 0;
  }
  kin_str raw = kin__str(text.data + 1, text.length - 2);
  *value = raw;
  if (!kin__text_is_escaped(raw)) {
    return 0;
  }
  char *plain = kin__edit_alloc(&builder->edit, raw.length);
  if (plain == NULL) {
    return KIN_ENOMEM;
  }
  value->data = plain;
  return kin__text_unescape(plain, &value->length, raw);
}

static int find_members(kin_object_builder *builder, members *m) {
  kin__edit *edit = &builder->edit;
  kin__edit_node *metadata;
  *m = (members){.labels = NULL};
  if (!kin__edit_is_object(edit->root)) {
    return KIN_ETYPE;
  }
  int err = kin__edit_child(edit, edit->root, KIN__LIT("metadata"), &metadata);
  if (err != 0 || metadata == NULL) {
    return err;
  }
  for (int i = 0; err == 0 && i < IDENTITY; i++) {
    err = kin__edit_child(edit, metadata, identity_names[i], &m->identity[i]);
    if (err == 0) {
      err = string_of(builder, m->identity[i], &m->strings[i]);
    }
  }
  if (err == 0) {
    err = kin__edit_child(edit, metadata, KIN__LIT("labels"), &m->labels);
  }
  return err;
}

/* A transform must not change the identity. A member that differs is an error;
 * a missing member is put back. */
static int restore_identity(kin_object_builder *builder, members *m) {
  bool is_restored = false;
  for (int i = 0; i < IDENTITY; i++) {
    if (kin__str_equal(m->strings[i], identity_of(builder->from, i))) {
      continue;
    }
    int err = m->identity[i] == NULL ? set_identity(builder, i) : KIN_EINVAL;
    if (err != 0) {
      return err;
    }
    is_restored = true;
  }
  return is_restored ? find_members(builder, m) : 0;
}

static void mark(kin__edit_node *member, kin__edit_mark place) {
  if (member != NULL) {
    member->mark = (uint8_t)place;
  }
}

/* The string's place in the new text, if it is written there unchanged. */
static kin_str in_text(const kin__buf *out, const kin__edit_places *places,
                       kin__edit_mark place, kin_str value) {
  bool is_plain = value.length > 0 &&
                  places->length[place] == value.length + 2; /* the quotes */
  return is_plain ? kin__str(out->data + places->begin[place] + 1, value.length)
                  : value;
}

static int write_object(kin_object_builder *builder, const members *m,
                        size_t headroom, kin_object **out) {
  int err = m->labels != NULL ? kin__edit_close(&builder->edit, m->labels) : 0;
  mark(m->identity[UID], KIN__EDIT_UID);
  mark(m->identity[VERSION], KIN__EDIT_VERSION);
  mark(m->labels, KIN__EDIT_LABELS);
  kin__edit_places places;
  kin__buf *text = &builder->out;
  if (err == 0) {
    err = kin__edit_write(&builder->edit, text, &places);
  }
  if (err != 0) {
    return err;
  }
  kin__object_parts parts = {
      .namespace_ = m->strings[NAMESPACE],
      .name = m->strings[NAME],
      .uid = in_text(text, &places, KIN__EDIT_UID, m->strings[UID]),
      .version = in_text(text, &places, KIN__EDIT_VERSION, m->strings[VERSION]),
      .body = kin__str(text->data, text->length),
      .headroom = headroom,
      .is_key_only =
          builder->from != NULL && kin_object_is_key_only(builder->from)};
  if (m->labels != NULL && kin__edit_is_object(m->labels) &&
      !builder->has_no_labels) {
    parts.labels = kin__str(text->data + places.begin[KIN__EDIT_LABELS],
                            places.length[KIN__EDIT_LABELS]);
  }
  return kin__object_new(out, builder->memory, &parts);
}

int kin__builder_make(kin_object_builder *builder, size_t headroom,
                      kin_object **out) {
  if (builder->error != 0) {
    return builder->error;
  }
  if (builder->from != NULL && !builder->edit.is_changed) {
    *out = kin__object_ref(builder->from);
    return 0;
  }
  members m;
  int err = find_members(builder, &m);
  if (err == 0 && builder->is_lent) {
    err = restore_identity(builder, &m);
  }
  return err == 0 ? write_object(builder, &m, headroom, out) : err;
}
