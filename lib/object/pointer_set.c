/* SPDX-License-Identifier: MIT */
#include "object/pointer_set.h"

#include <stdbool.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/text.h"

#define NONE UINT32_MAX

/* A token below its parent's tokens. Links are places in the array of nodes. */
typedef struct kin__pointer_node {
  char *token;          /* unescaped; NULL for `*` and for the root */
  size_t length;        /* of the token */
  uint64_t element;     /* the token as a place in an array, or UINT64_MAX */
  uint64_t container;   /* in which the token's member was found last */
  uint32_t pointer;     /* one that ends here, or NONE */
  uint32_t first_child; /* or NONE */
  uint32_t next;        /* the parent's next child, or NONE */
  uint32_t names;       /* children that are no `*` */
  bool has_wildcard;    /* one of the children is `*` */
} node;

void kin__pointer_set_init(kin__pointer_set *set,
                           const kin_allocator *allocator) {
  *set = (kin__pointer_set){.allocator = allocator};
}

void kin__pointer_set_finish(kin__pointer_set *set) {
  for (uint32_t i = 0; i < set->node_count; i++) {
    kin__free(set->allocator, set->nodes[i].token);
  }
  kin__free(set->allocator, set->nodes);
  kin__free(set->allocator, set->same);
  kin__pointer_set_init(set, set->allocator);
}

/* Adding. */

static bool is_wildcard(kin_str token) {
  return token.length == 1 && token.data[0] == '*';
}

/* Appends a node without children; it has no parent yet. */
static int append_node(kin__pointer_set *set, kin_str token) {
  int err = kin__reserve_one(set->allocator, &set->nodes, set->node_count,
                             &set->node_capacity, sizeof *set->nodes);
  if (err != 0) {
    return err;
  }
  node *n = &set->nodes[set->node_count];
  *n = (node){.element = UINT64_MAX,
              .pointer = NONE,
              .first_child = NONE,
              .next = NONE};
  if (token.data != NULL && !is_wildcard(token)) {
    (void)kin__json_token_to_element(token, &n->element);
    n->length = token.length;
    n->token = kin__strndup(set->allocator, token.data, token.length);
    if (n->token == NULL) {
      return KIN_ENOMEM;
    }
  }
  set->node_count++;
  return 0;
}

static bool is_spelled(const node *n, kin_str token) {
  return n->token != NULL ? kin__str_equal(kin__str(n->token, n->length), token)
                          : is_wildcard(token);
}

/* Finds or makes the child of *at with this token, and steps to it. */
static int step_to(kin__pointer_set *set, uint32_t *at, kin_str token) {
  uint32_t child = set->nodes[*at].first_child;
  while (child != NONE && !is_spelled(&set->nodes[child], token)) {
    child = set->nodes[child].next;
  }
  if (child != NONE) {
    *at = child;
    return 0;
  }
  int err = append_node(set, token);
  if (err != 0) {
    return err;
  }
  child = set->node_count - 1;
  node *parent = &set->nodes[*at];
  set->nodes[child].next = parent->first_child;
  parent->first_child = child;
  if (is_wildcard(token)) {
    parent->has_wildcard = true;
  } else {
    parent->names++;
  }
  *at = child;
  return 0;
}

/* Makes what is missing of a pointer's nodes, from the root to *at, which is
 * the last. `scratch` has room for the longest token. */
static int walk_down(kin__pointer_set *set, const char *pointer, char *scratch,
                     uint32_t *at) {
  *at = 0;
  int err = set->node_count > 0 ? 0 : append_node(set, kin__str(NULL, 0));
  while (err == 0 && *pointer == '/') {
    kin_str token = kin__str(pointer + 1, strcspn(pointer + 1, "/"));
    pointer += 1 + token.length;
    size_t length = kin__json_token_unescape(scratch, token);
    err = step_to(set, at, kin__str(scratch, length));
  }
  return err;
}

int kin__pointer_set_add(kin__pointer_set *set, const char *pointer,
                         uint32_t *id) {
  if (!kin__json_pointer_is_usable(pointer)) {
    return KIN_EINVAL;
  }
  int err = kin__reserve_one(set->allocator, &set->same, set->count,
                             &set->capacity, sizeof *set->same);
  char *scratch =
      err == 0 ? kin__malloc(set->allocator, strlen(pointer) + 1) : NULL;
  if (scratch == NULL) {
    return KIN_ENOMEM;
  }
  uint32_t at;
  err = walk_down(set, pointer, scratch, &at);
  kin__free(set->allocator, scratch);
  if (err == 0) {
    *id = set->count++;
    set->same[*id] = set->nodes[at].pointer;
    set->nodes[at].pointer = *id;
  }
  return err;
}

/* Reading. */

typedef struct pass {
  kin__pointer_set *set;
  int (*emit)(void *ctx, uint32_t id, kin_str scalar);
  void *ctx;
} pass;

static int read_value(const pass *p, uint32_t at, kin_str value);

/* A node's tokens in one container. */
typedef struct search {
  const pass *pass;
  const node *parent;
  uint64_t container;
  uint32_t names_left; /* tokens not found yet */
} search;

static search search_of(const pass *p, const node *parent) {
  return (search){.pass = p,
                  .parent = parent,
                  .container = ++p->set->containers,
                  .names_left = parent->names};
}

/* Whether nothing in the rest of the container is named. */
static bool is_over(const search *s) {
  return s->names_left == 0 && !s->parent->has_wildcard;
}

/* Reads a child of the container for each token that names it. `name` is the
 * member's, or NULL for the element `element`. */
static int read_child(search *s, const kin_str *name, uint64_t element,
                      kin_str value) {
  int result = 0;
  uint32_t at = s->parent->first_child;
  while (result == 0 && at != NONE) {
    node *n = &s->pass->set->nodes[at];
    bool is_named = n->token == NULL;
    if (n->token != NULL && n->container != s->container) {
      is_named = name != NULL
                     ? kin__text_name_is(*name, kin__str(n->token, n->length))
                     : n->element == element;
      n->container = is_named ? s->container : n->container;
      s->names_left -= is_named ? 1 : 0;
    }
    if (is_named) {
      result = read_value(s->pass, at, value);
    }
    at = n->next;
  }
  return result;
}

static int read_object(const pass *p, const node *parent, kin_str text) {
  int result = 0;
  search s = search_of(p, parent);
  kin__text_members members = {.text = text};
  while (result == 0 && !is_over(&s) && kin__text_next(&members)) {
    result = read_child(&s, &members.name, UINT64_MAX, members.value);
  }
  return result;
}

static int read_array(const pass *p, const node *parent, kin_str text) {
  int result = 0;
  uint64_t element = 0;
  search s = search_of(p, parent);
  kin__text_elements elements = {.text = text};
  while (result == 0 && !is_over(&s) && kin__text_next_element(&elements)) {
    result = read_child(&s, NULL, element++, elements.value);
  }
  return result;
}

static int read_scalar(const pass *p, const node *n, kin_str text) {
  int result = 0;
  uint32_t id = n->pointer;
  while (result == 0 && id != NONE) {
    result = p->emit(p->ctx, id, text);
    id = p->set->same[id];
  }
  return result;
}

/* The nodes stay where they are during a pass: nothing is added. */
static int read_value(const pass *p, uint32_t at, kin_str value) {
  const node *n = &p->set->nodes[at];
  char first = value.data[0];
  if (first == '{') {
    return read_object(p, n, value);
  }
  if (first == '[') {
    return read_array(p, n, value);
  }
  return first != 'n' ? read_scalar(p, n, value) : 0;
}

int kin__pointer_set_read(kin__pointer_set *set, kin_str text,
                          int (*emit)(void *ctx, uint32_t id, kin_str scalar),
                          void *ctx) {
  if (set->count == 0 || text.length == 0) {
    return 0;
  }
  pass p = {set, emit, ctx};
  return read_value(&p, 0, text);
}
