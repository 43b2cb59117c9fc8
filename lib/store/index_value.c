/* SPDX-License-Identifier: MIT */
#include "store/index_value.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/packed.h"

#define LABELS_PREFIX "/metadata/labels/"

/* The key, still escaped, of the one label that a pointer names, or NULL. */
static const char *label_token(const char *pointer) {
  size_t length = sizeof LABELS_PREFIX - 1;
  if (strncmp(pointer, LABELS_PREFIX, length) != 0) {
    return NULL;
  }
  const char *token = pointer + length;
  bool is_one = strchr(token, '/') == NULL && strcmp(token, "*") != 0;
  return is_one ? token : NULL;
}

static int make_own(kin__index_source *source, const kin_allocator *allocator) {
  source->own = kin__malloc(allocator, sizeof *source->own);
  if (source->own == NULL) {
    return KIN_ENOMEM;
  }
  kin__pointer_set_init(source->own, allocator);
  uint32_t id;
  return kin__pointer_set_add(source->own, source->text, &id);
}

/* Gives the source its text, and what is made of it. On an error the source can
 * be finished. */
static int set_text(kin__index_source *source, const kin_allocator *allocator,
                    const char *text) {
  source->text = kin__strdup(allocator, text);
  if (source->text == NULL) {
    return KIN_ENOMEM;
  }
  return source->kind == KIN__INDEX_POINTER ? make_own(source, allocator) : 0;
}

static int init_pointer(kin__index_source *source,
                        const kin_allocator *allocator, const char *pointer,
                        bool has_labels) {
  if (!kin__json_pointer_is_usable(pointer)) {
    return KIN_EINVAL;
  }
  const char *label = has_labels ? label_token(pointer) : NULL;
  if (strcmp(pointer, "/metadata/namespace") == 0) {
    source->kind = KIN__INDEX_NAMESPACE;
  } else if (strcmp(pointer, "/metadata/name") == 0) {
    source->kind = KIN__INDEX_NAME;
  } else if (strcmp(pointer, "/metadata/uid") == 0) {
    source->kind = KIN__INDEX_UID;
  } else if (label == NULL) {
    source->kind = KIN__INDEX_POINTER;
    return set_text(source, allocator, pointer);
  } else {
    source->kind = KIN__INDEX_LABEL;
    int err = set_text(source, allocator, label);
    if (err == 0) {
      size_t length =
          kin__json_token_unescape(source->text, kin__cstr(source->text));
      source->text[length] = '\0';
    }
    return err;
  }
  return 0;
}

int kin__index_source_init(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin_index_options *options, bool has_labels) {
  *source = (kin__index_source){.cb = options->cb, .data = options->data};
  if ((options->pointer != NULL) == (options->cb != NULL)) {
    return KIN_EINVAL;
  }
  if (options->cb != NULL) {
    source->kind = KIN__INDEX_CALLBACK;
    return 0;
  }
  return init_pointer(source, allocator, options->pointer, has_labels);
}

int kin__index_source_copy(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin__index_source *from) {
  *source = *from;
  source->text = NULL;
  source->own = NULL;
  return from->text != NULL ? set_text(source, allocator, from->text) : 0;
}

void kin__index_source_finish(kin__index_source *source,
                              const kin_allocator *allocator) {
  kin__free(allocator, source->text);
  source->text = NULL;
  if (source->own != NULL) {
    kin__pointer_set_finish(source->own);
    kin__free(allocator, source->own);
    source->own = NULL;
  }
}

int kin__index_source_join(kin__index_source *source,
                           const kin_allocator *allocator,
                           kin__index_pass **pass) {
  if (source->kind != KIN__INDEX_POINTER) {
    return 0;
  }
  if (*pass == NULL) {
    *pass = kin__index_pass_new(allocator);
  }
  return *pass != NULL
             ? kin__index_pass_add(*pass, source->text, &source->place)
             : KIN_ENOMEM;
}

void kin__index_reader_init(kin__index_reader *reader, const kin_object *object,
                            kin__index_pass *pass) {
  *reader = (kin__index_reader){.object = object, .pass = pass};
}

void kin__index_reader_finish(kin__index_reader *reader) {
  if (reader->has_read) {
    kin__index_pass_forget(reader->pass);
  }
  kin__object_close_text(reader->object, reader->block);
}

/* Handlers may read a new object, too: its text is inflated in place, if there
 * is room. Other objects are not looked at again; and a program that holds all
 * texts that there may be must not keep a store from changing. No other thread
 * frees the text between the two steps. */
static int open_text(kin__index_reader *reader, kin_str *text) {
  bool is_held = reader->pass != NULL && kin__object_is_packed(reader->object);
  if (is_held) {
    kin__packed_hold(reader->object);
    (void)kin__object_text(reader->object, text);
  }
  int err = kin__object_open_text(reader->object, text, &reader->block);
  if (is_held) {
    kin__packed_let_go(reader->object);
  }
  return err == 0 ? 0 : KIN_ENOMEM;
}

static int emit_scalar(void *ctx, kin_str value) {
  return value.length <= KIN__INDEX_VALUE_MAX ? kin_index_emit(ctx, value) : 0;
}

/* Emits a resident string; an absent one is empty. */
static int emit_resident(kin_index_values *values, kin_str value) {
  return value.length > 0 ? emit_scalar(values, value) : 0;
}

typedef struct written {
  const kin_allocator *allocator;
  kin_index_values *values;
} written;

static int emit_written(void *ctx, uint32_t id, kin_str scalar) {
  const written *w = ctx;
  (void)id;
  return kin__json_scalar(w->allocator, scalar, emit_scalar, w->values);
}

/* One pointer alone needs no memory for what is found. */
static int each_by_pointer(const kin__index_source *source,
                           kin__index_reader *reader,
                           kin_index_values *values) {
  if (reader->pass == NULL || reader->pass->set.count == 1) {
    written w = {source->own->allocator, values};
    kin_str text;
    int err = open_text(reader, &text);
    return err == 0 ? kin__pointer_set_read(source->own, text, emit_written, &w)
                    : err;
  }
  if (!reader->has_read) {
    kin_str text;
    reader->has_read = true;
    int err = open_text(reader, &text);
    if (err == 0) {
      err = kin__index_pass_read(reader->pass, text);
    }
    if (err != 0) {
      return err;
    }
  }
  return kin__index_pass_each(reader->pass, source->place, emit_scalar, values);
}

static int each_by_callback(const kin__index_source *source,
                            const kin_object *object,
                            kin_index_values *values) {
  int err = source->cb(object, values, source->data);
  return err == 0 || err == KIN_ENOMEM ? err : KIN_EINDEX;
}

int kin__index_source_each(const kin__index_source *source,
                           kin__index_reader *reader,
                           kin_index_values *values) {
  const kin_object *object = reader->object;
  kin_str value = {NULL, 0};
  switch (source->kind) {
  case KIN__INDEX_CALLBACK:
    return each_by_callback(source, object, values);
  case KIN__INDEX_NAMESPACE:
    return emit_resident(values, kin_object_namespace(object));
  case KIN__INDEX_NAME:
    return emit_resident(values, kin_object_name(object));
  case KIN__INDEX_UID:
    return emit_resident(values, kin_object_uid(object));
  case KIN__INDEX_LABEL:
    /* An empty label is a value, unlike an absent one. */
    return kin_object_label(object, source->text, &value)
               ? emit_scalar(values, value)
               : 0;
  case KIN__INDEX_POINTER:
    return each_by_pointer(source, reader, values);
  }
  return 0;
}
