/* SPDX-License-Identifier: MIT */
#include "config/kube_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/base64.h"
#include "config/path.h"

/* --- Where we are --------------------------------------------------------- */

/* Appends to the path. Returns the length to go back to. */
__attribute__((format(printf, 2, 3))) static size_t
enter(kin__kube_reader *reader, const char *format, ...) {
  size_t before = reader->path_length;
  va_list args;
  va_start(args, format);
  int wanted = vsnprintf(reader->path + before, sizeof reader->path - before,
                         format, args);
  va_end(args);
  (void)wanted;
  reader->path_length = strlen(reader->path);
  return before;
}

static void go_back(kin__kube_reader *reader, size_t length) {
  reader->path_length = length;
  reader->path[length] = '\0';
}

kin__config_place kin__kube_place(const kin__kube_reader *reader,
                                  const kin__yaml_node *node) {
  return (kin__config_place){reader->file, node->line};
}

void kin__kube_wrong_type(kin__kube_reader *reader, const kin__yaml_node *node,
                          const char *wanted) {
  bool needs_quotes =
      strcmp(wanted, "a string") == 0 &&
      (node->type == KIN__YAML_NUMBER || node->type == KIN__YAML_BOOL);
  kin__problems_add(reader->problems, kin__kube_place(reader, node),
                    reader->path, "is %s, not %s%s",
                    kin__yaml_type_name(node->type), wanted,
                    needs_quotes ? " (put it in quotes)" : "");
}

/* --- Scalars -------------------------------------------------------------- */

bool kin__kube_is_text(kin__kube_reader *reader, const kin__yaml_node *node) {
  if (node->type != KIN__YAML_STRING) {
    kin__kube_wrong_type(reader, node, "a string");
    return false;
  }
  if (memchr(node->text.data, '\0', node->text.length) != NULL) {
    kin__problems_add(reader->problems, kin__kube_place(reader, node),
                      reader->path, "has a NUL character");
    return false;
  }
  return true;
}

int kin__kube_read_text(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  kin__kube_text *text = to;
  text->place = kin__kube_place(reader, node);
  text->is_wrong = !kin__kube_is_text(reader, node);
  if (!text->is_wrong && node->text.length > 0) {
    text->value = node->text.data;
  }
  return 0;
}

int kin__kube_read_name(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  const char **name = to;
  *name = kin__kube_is_text(reader, node) ? node->text.data : NULL;
  return 0;
}

int kin__kube_read_path(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  kin__kube_text *text = to;
  (void)kin__kube_read_text(reader, node, text);
  if (text->value != NULL) {
    text->value =
        kin__path_beside(&reader->set->vault, reader->file, text->value);
    return text->value != NULL ? 0 : KIN_ENOMEM;
  }
  return 0;
}

/* A command without a slash is looked up in PATH; so a path keeps one. */
int kin__kube_read_command(kin__kube_reader *reader, const kin__yaml_node *node,
                           void *to) {
  kin__kube_text *text = to;
  bool is_path = node->type == KIN__YAML_STRING &&
                 memchr(node->text.data, '/', node->text.length) != NULL;
  int err = is_path ? kin__kube_read_path(reader, node, to)
                    : kin__kube_read_text(reader, node, to);
  if (!is_path || text->value == NULL || strchr(text->value, '/') != NULL) {
    return err;
  }
  size_t size = strlen(text->value) + sizeof "./";
  char *path = kin__vault_alloc(&reader->set->vault, size, 1);
  if (path == NULL) {
    return KIN_ENOMEM;
  }
  snprintf(path, size, "./%s", text->value);
  text->value = path;
  return 0;
}

int kin__kube_read_data(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  kin__kube_text *text = to;
  text->place = kin__kube_place(reader, node);
  text->is_wrong = !kin__kube_is_text(reader, node);
  if (text->is_wrong || node->text.length == 0) {
    return 0;
  }
  kin_str data;
  int err = kin__base64_decode(&reader->set->vault, node->text, &data);
  if (err == KIN_EINVAL) {
    kin__problems_add(reader->problems, text->place, reader->path,
                      "is not base64");
    text->is_wrong = true;
    return 0;
  }
  if (err == 0 && memchr(data.data, '\0', data.length) != NULL) {
    kin__problems_add(reader->problems, text->place, reader->path,
                      "is not the base64 of PEM text");
    text->is_wrong = true;
    return 0;
  }
  if (err == 0 && data.length > 0) {
    text->value = data.data;
  }
  return err;
}

int kin__kube_read_truth(kin__kube_reader *reader, const kin__yaml_node *node,
                         void *to) {
  bool *truth = to;
  if (node->type != KIN__YAML_BOOL) {
    kin__kube_wrong_type(reader, node, "true or false");
  } else {
    *truth = node->truth;
  }
  return 0;
}

/* --- Structs and lists ---------------------------------------------------- */

int kin__kube_read_fields(kin__kube_reader *reader, const kin__yaml_node *node,
                          const kin__kube_field *fields, void *to) {
  if (node->type != KIN__YAML_MAP) {
    kin__kube_wrong_type(reader, node, "a map");
    return 0;
  }
  int err = 0;
  for (const kin__yaml_item *item = node->first; item != NULL && err == 0;
       item = item->next) {
    for (const kin__kube_field *field = fields; field->name != NULL; field++) {
      if (item->value->type != KIN__YAML_NULL &&
          kin__str_equal(item->key, kin__cstr(field->name))) {
        size_t back =
            enter(reader, reader->path_length > 0 ? ".%s" : "%s", field->name);
        err = field->read(reader, item->value, (char *)to + field->offset);
        go_back(reader, back);
        break;
      }
    }
  }
  return err;
}

/* As in Go, null among texts is an empty one, so that the others keep their
 * places. */
static int read_list_text(kin__kube_reader *reader, const kin__yaml_node *node,
                          uint32_t index, void *to) {
  kin__kube_text_list *list = to;
  (void)index;
  if (node->type == KIN__YAML_NULL) {
    list->values[list->count++] = "";
  } else if (kin__kube_is_text(reader, node)) {
    list->values[list->count++] = node->text.data;
  }
  return 0;
}

int kin__kube_read_elements(kin__kube_reader *reader,
                            const kin__yaml_node *node,
                            int (*read)(kin__kube_reader *,
                                        const kin__yaml_node *, uint32_t index,
                                        void *to),
                            void *to) {
  if (node->type != KIN__YAML_LIST) {
    kin__kube_wrong_type(reader, node, "a list");
    return 0;
  }
  int err = 0;
  uint32_t index = 0;
  for (const kin__yaml_item *item = node->first; item != NULL && err == 0;
       item = item->next, index++) {
    size_t back = enter(reader, "[%u]", (unsigned)index);
    err = read(reader, item->value, index, to);
    go_back(reader, back);
  }
  return err;
}

int kin__kube_read_texts(kin__kube_reader *reader, const kin__yaml_node *node,
                         kin__kube_text_list *list) {
  *list = (kin__kube_text_list){.count = 0};
  if (node->count > 0) {
    list->values = kin__vault_alloc(&reader->set->vault, node->count,
                                    sizeof *list->values);
    if (list->values == NULL) {
      return KIN_ENOMEM;
    }
  }
  return kin__kube_read_elements(reader, node, read_list_text, list);
}

int kin__kube_read_list(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to) {
  kin__kube_list *list = to;
  kin__kube_text_list texts;
  int err = kin__kube_read_texts(reader, node, &texts);
  list->values = texts.values;
  list->count = texts.count;
  list->place = kin__kube_place(reader, node);
  return err;
}
