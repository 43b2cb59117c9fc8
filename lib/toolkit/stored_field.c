/* SPDX-License-Identifier: MIT */
#include "toolkit/stored_field.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/projection.h"
#include "object/json.h"

/* A token may name a member and an element; the type of the value is unknown
 * here. *child is as kin__projection_member has it. */
static kin__project project_token(const struct kin__projection_node *node,
                                  kin_str token,
                                  const struct kin__projection_node **child) {
  uint64_t element;
  kin__project project = kin__projection_member(node, token, child);
  if (project == KIN__DROP_ALL && kin__json_token_to_element(token, &element) &&
      element < UINT32_MAX) {
    project = kin__projection_element(node, (uint32_t)element, child);
  }
  return project;
}

/* `pointer` is written over. */
static bool is_kept(const kin__projection *projection, char *pointer) {
  const struct kin__projection_node *node = kin__projection_root(projection);
  kin__project project = KIN__DESCEND;
  while (project == KIN__DESCEND && *pointer == '/') {
    char *text = pointer + 1;
    size_t length = strcspn(text, "/");
    pointer = text + length;
    kin_str token = {text,
                     kin__json_token_unescape(text, kin__str(text, length))};
    const struct kin__projection_node *child;
    project = project_token(node, token, &child);
    node = child;
  }
  return project != KIN__DROP_ALL;
}

static bool is_metadata(const char *pointer) {
  static const char metadata[] = "/metadata";
  return pointer[0] == '\0' || strcmp(pointer, "/kind") == 0 ||
         strcmp(pointer, "/apiVersion") == 0 ||
         (strncmp(pointer, metadata, sizeof metadata - 1) == 0 &&
          strchr("/", pointer[sizeof metadata - 1]) != NULL);
}

int kin__is_stored_field(const kin_informer *informer, const char *pointer,
                         bool *is_stored) {
  const kin__settings *settings = &informer->settings;
  *is_stored = true;
  if (settings->options.transform != NULL || settings->source != NULL) {
    return 0;
  }
  char *copy = kin__strdup(informer->env->allocator, pointer);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  *is_stored = (!settings->resource.metadata_only || is_metadata(pointer)) &&
               is_kept(settings->projection, copy);
  kin__free(informer->env->allocator, copy);
  return 0;
}
