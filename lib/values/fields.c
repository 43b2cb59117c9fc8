/* SPDX-License-Identifier: MIT */

/* Pointers become a tree of their tokens. One pass over the text walks the tree
 * along: it enters the values that have a node with children, skips all others,
 * and ends when every pointer has its value. No node is entered twice, because
 * the first of several members of one name counts. */
#include <kin/fields.h>

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"
#include "object/text.h"
#include "values/value.h"

enum { FIELDS_MAX = 256, WORD_BITS = 32, WORDS = FIELDS_MAX / WORD_BITS };

#define NONE UINT32_MAX

typedef struct node {
  kin_str token;        /* unescaped */
  uint64_t element;     /* the token as a place in an array, or UINT64_MAX */
  uint32_t first_child; /* children lie side by side, by length and bytes */
  uint32_t child_count;
  uint32_t field; /* a pointer that ends here, or NONE */
} node;

struct kin_fields {
  kin_allocator allocator;
  size_t count;    /* of pointers */
  uint32_t ends;   /* nodes at which a pointer ends */
  uint32_t used;   /* nodes */
  node *nodes;     /* the first is the root */
  kin_str *tokens; /* of all pointers, one after another */
  uint32_t *first; /* for each pointer: its first token; and one more */
  uint32_t *order; /* the pointers in the order of the tree */
  uint32_t *same; /* for each pointer: an equal one that comes later, or NONE */
};

/* Compiling. */

static uint32_t token_count(const kin_fields *fields, uint32_t pointer) {
  return fields->first[pointer + 1] - fields->first[pointer];
}

static kin_str token_at(const kin_fields *fields, uint32_t pointer,
                        uint32_t depth) {
  return fields->tokens[fields->first[pointer] + depth];
}

static int compare_pointers(const kin_fields *fields, uint32_t a, uint32_t b) {
  uint32_t a_count = token_count(fields, a);
  uint32_t b_count = token_count(fields, b);
  for (uint32_t i = 0; i < a_count && i < b_count; i++) {
    /* Places in arrays are in order, too. */
    int order = kin__str_compare_by_length(token_at(fields, a, i),
                                           token_at(fields, b, i));
    if (order != 0) {
      return order;
    }
  }
  return (a_count > b_count) - (a_count < b_count);
}

/* Cuts all pointers into tokens, and puts them in order. */
static void cut(kin_fields *fields, const char *const *pointers, char *bytes) {
  uint32_t tokens = 0;
  for (uint32_t i = 0; i < fields->count; i++) {
    const char *pointer = pointers[i];
    fields->first[i] = tokens;
    while (*pointer == '/') {
      kin_str token = kin__str(pointer + 1, strcspn(pointer + 1, "/"));
      pointer += 1 + token.length;
      size_t length = kin__json_token_unescape(bytes, token);
      fields->tokens[tokens++] = kin__str(bytes, length);
      bytes += length;
    }
    fields->first[i + 1] = tokens;
    uint32_t at = i;
    while (at > 0 && compare_pointers(fields, fields->order[at - 1], i) > 0) {
      fields->order[at] = fields->order[at - 1];
      at--;
    }
    fields->order[at] = i;
  }
}

/* The end of the pointers in `order` that share the token at `depth` with the
 * first. */
static uint32_t group_end(const kin_fields *fields, uint32_t begin,
                          uint32_t end, uint32_t depth) {
  kin_str token = token_at(fields, fields->order[begin], depth);
  uint32_t at = begin + 1;
  while (at < end &&
         kin__str_equal(token, token_at(fields, fields->order[at], depth))) {
    at++;
  }
  return at;
}

/* Makes the nodes below the node `at`, to which the pointers order[begin, end)
 * lead, whose depth is `depth`. Recurses as deep as the longest pointer. */
static void grow(kin_fields *fields, uint32_t at, uint32_t begin, uint32_t end,
                 uint32_t depth) {
  node *n = &fields->nodes[at];
  n->field = NONE;
  for (; begin < end && token_count(fields, fields->order[begin]) == depth;
       begin++) {
    fields->ends += n->field == NONE;
    fields->same[fields->order[begin]] = n->field;
    n->field = fields->order[begin];
  }
  n->first_child = fields->used;
  n->child_count = 0;
  for (uint32_t i = begin; i < end; i = group_end(fields, i, end, depth)) {
    node *child = &fields->nodes[fields->used++];
    child->token = token_at(fields, fields->order[i], depth);
    child->element = UINT64_MAX;
    (void)kin__json_token_to_element(child->token, &child->element);
    n->child_count++;
  }
  uint32_t child = n->first_child;
  while (begin < end) {
    uint32_t next = group_end(fields, begin, end, depth);
    grow(fields, child++, begin, next, depth + 1);
    begin = next;
  }
}

static_assert(sizeof(kin_fields) % _Alignof(node) == 0 &&
                  _Alignof(node) >= _Alignof(kin_str),
              "the nodes lie behind the struct, the tokens behind the nodes");

/* One block for all. */
static kin_fields *allocate(const kin_allocator *allocator, size_t count,
                            size_t tokens, size_t bytes, char **text) {
  size_t nodes_size = (tokens + 1) * sizeof(node);
  size_t tokens_size = tokens * sizeof(kin_str);
  size_t numbers = 3 * count + 1;
  char *block =
      kin__malloc(allocator, sizeof(kin_fields) + nodes_size + tokens_size +
                                 numbers * sizeof(uint32_t) + bytes);
  if (block == NULL) {
    return NULL;
  }
  kin_fields *fields = (kin_fields *)(void *)block;
  block += sizeof *fields;
  uint32_t *first = (uint32_t *)(void *)(block + nodes_size + tokens_size);
  *fields = (kin_fields){.allocator = *allocator,
                         .count = count,
                         .used = 1,
                         .nodes = (node *)(void *)block,
                         .tokens = (kin_str *)(void *)(block + nodes_size),
                         .first = first,
                         .order = first + count + 1,
                         .same = first + 2 * count + 1};
  *text = (char *)(first + numbers);
  return fields;
}

int kin_fields_new(kin_fields **out, const kin_allocator *allocator,
                   const char *const *pointers, size_t count) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (pointers == NULL || count == 0 || count > FIELDS_MAX) {
    return KIN_EINVAL;
  }
  size_t tokens = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    if (!kin__json_pointer_is_usable(pointers[i])) {
      return KIN_EINVAL;
    }
    tokens += kin__json_pointer_tokens(pointers[i]);
    bytes += strlen(pointers[i]);
  }
  allocator = allocator != NULL ? allocator : kin__default_allocator();
  char *text;
  kin_fields *fields = allocate(allocator, count, tokens, bytes, &text);
  if (fields == NULL) {
    return KIN_ENOMEM;
  }
  cut(fields, pointers, text);
  grow(fields, 0, 0, (uint32_t)count, 0);
  *out = fields;
  return 0;
}

void kin_fields_free(kin_fields *fields) {
  if (fields != NULL) {
    kin_allocator allocator = fields->allocator;
    kin__free(&allocator, fields);
  }
}

/* Reading. The functions return the offset after what they have read, or 0 when
 * the pass is over: every field is found, or the text is malformed. */

typedef struct pass {
  const kin_fields *fields;
  kin_value *values;
  uint32_t left; /* nodes whose fields are not found */
  int error;
} pass;

static size_t fail(pass *p) {
  p->error = KIN_EJSON;
  return 0;
}

static size_t read_value(pass *p, const node *n, kin_str text);

static size_t read_child(pass *p, const node *child, kin_str text, size_t at) {
  size_t length = read_value(p, child, kin__str_from(text, at));
  return length > 0 ? at + length : 0;
}

/* The child of that name, as written, or NULL. */
static const node *find_child(const pass *p, const node *n, kin_str name) {
  const node *children = &p->fields->nodes[n->first_child];
  if (kin__text_is_escaped(name)) {
    for (uint32_t i = 0; i < n->child_count; i++) {
      if (kin__text_name_is(name, children[i].token)) {
        return &children[i];
      }
    }
    return NULL;
  }
  uint32_t low = 0;
  uint32_t high = n->child_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = kin__str_compare_by_length(children[middle].token, name);
    if (order == 0) {
      return &children[middle];
    }
    low = order < 0 ? middle + 1 : low;
    high = order < 0 ? high : middle;
  }
  return NULL;
}

/* Marks a child as found. Returns false if it was. */
static bool mark(uint32_t found[WORDS], size_t child) {
  uint32_t bit = UINT32_C(1) << (child % WORD_BITS);
  bool is_new = (found[child / WORD_BITS] & bit) == 0;
  found[child / WORD_BITS] |= bit;
  return is_new;
}

static size_t read_object(pass *p, const node *n, kin_str text) {
  const node *children = &p->fields->nodes[n->first_child];
  uint32_t found[WORDS] = {0};
  uint32_t left = n->child_count;
  kin__text_members members = {.text = text};
  while (kin__text_next_name(&members)) {
    const node *child = find_child(p, n, members.name);
    bool is_read = child != NULL && mark(found, (size_t)(child - children));
    members.at = is_read ? read_child(p, child, text, members.at)
                         : kin__text_skip(text, members.at);
    if (members.at == 0) {
      return is_read ? 0 : fail(p);
    }
    left -= is_read;
    if (left == 0) {
      size_t after = kin__text_leave(text, members.at);
      return after > 0 ? after : fail(p);
    }
  }
  size_t after = kin__text_close(text, members.at, '{');
  return after > 0 ? after : fail(p);
}

static size_t read_array(pass *p, const node *n, kin_str text) {
  const node *child = &p->fields->nodes[n->first_child];
  const node *children_end = child + n->child_count;
  uint64_t element = 0;
  size_t at = 0;
  for (;; element++) {
    while (child < children_end && child->element == UINT64_MAX) {
      child++;
    }
    if (child == children_end) {
      size_t after =
          at > 0 ? kin__text_leave(text, at) : kin__text_skip(text, 0);
      return after > 0 ? after : fail(p);
    }
    size_t place = kin__text_next_place(text, at);
    if (place == 0) {
      size_t after = kin__text_close(text, at, '[');
      return after > 0 ? after : fail(p);
    }
    bool is_read = child->element == element;
    at = is_read ? read_child(p, child, text, place)
                 : kin__text_skip(text, place);
    if (at == 0) {
      return is_read ? 0 : fail(p);
    }
    child += is_read;
  }
}

static void set_fields(pass *p, uint32_t field, kin_value value) {
  for (; field != NONE; field = p->fields->same[field]) {
    p->values[field] = value;
  }
}

/* Reads the value at the beginning of `text`, which may go on behind it. */
static size_t read_value(pass *p, const node *n, kin_str text) {
  size_t after;
  if (n->child_count > 0 && text.length > 0 && text.data[0] == '{') {
    after = read_object(p, n, text);
  } else if (n->child_count > 0 && text.length > 0 && text.data[0] == '[') {
    after = read_array(p, n, text);
  } else {
    after = kin__text_skip(text, 0);
    if (after == 0) {
      return fail(p);
    }
  }
  if (after > 0 && n->field != NONE) {
    set_fields(p, n->field, kin__value_of_text(text.data, after));
    p->left--;
    return p->left > 0 ? after : 0;
  }
  return after;
}

static int read_text(const kin_fields *fields, kin_str text,
                     kin_value *values) {
  for (size_t i = 0; i < fields->count; i++) {
    values[i] = kin__value_failed(KIN_ENOENT);
  }
  pass p = {.fields = fields, .values = values, .left = fields->ends};
  (void)read_value(&p, &fields->nodes[0], text);
  for (size_t i = 0; p.error != 0 && i < fields->count; i++) {
    if (values[i].error != 0) {
      values[i].error = p.error;
    }
  }
  return p.error;
}

int kin_fields_read(const kin_fields *fields, const kin_object *object,
                    kin_value *values) {
  if (fields == NULL || object == NULL || values == NULL) {
    return KIN_EINVAL;
  }
  kin_str text;
  int err = kin__object_text(object, &text);
  if (err == 0) {
    return read_text(fields, text, values);
  }
  for (size_t i = 0; i < fields->count; i++) {
    values[i] = kin__value_failed(err);
  }
  return err;
}

int kin_fields_read_value(const kin_fields *fields, kin_value value,
                          kin_value *values) {
  if (fields == NULL || values == NULL) {
    return KIN_EINVAL;
  }
  if (kin_value_type_of(value) != KIN_VALUE_ABSENT) {
    return read_text(fields, value.json, values);
  }
  int err = value.error != 0 ? value.error : KIN_ENOENT;
  for (size_t i = 0; i < fields->count; i++) {
    values[i] = kin__value_failed(err);
  }
  return err;
}
