/* SPDX-License-Identifier: MIT */
#include "store/index_value.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"

#define LABELS_PREFIX "/metadata/labels/"

/* Undoes the escapes of a valid reference token in place. */
static void unescape_token(char *token) {
  char *to = token;
  for (const char *from = token; *from != '\0'; from++) {
    if (*from == '~') {
      from++;
      *to++ = *from == '1' ? '/' : '~';
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
}

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

static int init_pointer(kin__index_source *source,
                        const kin_allocator *allocator, const char *pointer) {
  if (!kin__json_pointer_is_valid(pointer) ||
      kin__json_pointer_tokens(pointer) > KIN__JSON_POINTER_TOKENS) {
    return KIN_EINVAL;
  }
  const char *label = label_token(pointer);
  if (strcmp(pointer, "/metadata/namespace") == 0) {
    source->kind = KIN__INDEX_NAMESPACE;
  } else if (strcmp(pointer, "/metadata/name") == 0) {
    source->kind = KIN__INDEX_NAME;
  } else if (strcmp(pointer, "/metadata/uid") == 0) {
    source->kind = KIN__INDEX_UID;
  } else {
    source->kind = label != NULL ? KIN__INDEX_LABEL : KIN__INDEX_POINTER;
    source->text = kin__strdup(allocator, label != NULL ? label : pointer);
    if (source->text == NULL) {
      return KIN_ENOMEM;
    }
    if (label != NULL) {
      unescape_token(source->text);
    }
  }
  return 0;
}

int kin__index_source_init(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin_index_options *options) {
  *source = (kin__index_source){.cb = options->cb, .data = options->data};
  if ((options->pointer != NULL) == (options->cb != NULL)) {
    return KIN_EINVAL;
  }
  if (options->cb != NULL) {
    source->kind = KIN__INDEX_CALLBACK;
    return 0;
  }
  return init_pointer(source, allocator, options->pointer);
}

int kin__index_source_copy(kin__index_source *source,
                           const kin_allocator *allocator,
                           const kin__index_source *from) {
  *source = *from;
  source->text = kin__strdup(allocator, from->text);
  return source->text != NULL || from->text == NULL ? 0 : KIN_ENOMEM;
}

void kin__index_source_finish(kin__index_source *source,
                              const kin_allocator *allocator) {
  kin__free(allocator, source->text);
  source->text = NULL;
}

void kin__index_reader_init(kin__index_reader *reader,
                            const kin_object *object) {
  *reader = (kin__index_reader){.object = object};
}

void kin__index_reader_finish(kin__index_reader *reader) {
  kin_object_view_close(reader->view);
  reader->view = NULL;
}

static int emit_scalar(void *ctx, kin_str value) {
  return value.length <= KIN__INDEX_VALUE_MAX ? kin_index_emit(ctx, value) : 0;
}

/* Emits a resident string; an absent one is empty. */
static int emit_resident(kin_index_values *values, kin_str value) {
  return value.length > 0 ? emit_scalar(values, value) : 0;
}

static int each_by_pointer(const char *pointer, kin__index_reader *reader,
                           kin_index_values *values) {
  if (reader->view == NULL) {
    int err = kin_object_view_open(&reader->view, reader->object);
    if (err != 0) {
      reader->view = NULL;
      return err;
    }
  }
  int err = 0;
  struct yyjson_doc *doc = kin_object_view_document(reader->view, &err);
  if (doc == NULL) {
    return err == KIN_ENOMEM ? err : 0;
  }
  return kin__json_each(kin__json_root(doc), pointer, emit_scalar, values);
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
    return each_by_pointer(source->text, reader, values);
  }
  return 0;
}
