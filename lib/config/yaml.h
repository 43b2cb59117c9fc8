/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_YAML_H
#define KIN_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

#include "base/buf.h"
#include "base/library.h"
#include "config/vault.h"

/* One YAML document as a bounded tree. JSON is YAML. Plain scalars have the
 * types that the YAML package of Kubernetes gives them, so `yes` is a boolean,
 * and 0x10 a number. A key that is a boolean is "true" or "false".
 *
 * Refused: several documents; a key twice in a map; keys that are null or no
 * scalar; merge keys (<<); tags other than null, bool, int, float, str, seq and
 * map, or with an escape (%41); an alias inside its own anchor; and everything
 * over a bound.
 *
 * libyaml allocates with the C library's malloc, and gives an error if that
 * fails: KIN_ENOMEM here. Its buffers and tokens are wiped before they are
 * freed. It would leave pieces of a long scalar behind, so it never sees the
 * letters and digits of one: see yaml_mask.h. */

kin__library kin__yaml_library(void);

/* kubectl has no bound. A kubeconfig in a Secret has at most 1 MiB. A file with
 * the certificates of 600 clusters has 4 MiB. */
#define KIN__YAML_MAX_BYTES (4u << 20)
#define KIN__YAML_MAX_DEPTH 64u
/* Nodes, and bytes of scalars. A node counts again for each alias of it, so a
 * walk over the tree is bounded, too. */
#define KIN__YAML_MAX_NODES 200000u
#define KIN__YAML_MAX_TEXT_BYTES (8u << 20)
#define KIN__YAML_MAX_ANCHORS 256u
/* Lines that begin with %TAG. libyaml compares each with all before it. */
#define KIN__YAML_MAX_TAG_LINES 16u

typedef enum kin__yaml_type {
  KIN__YAML_NULL,
  KIN__YAML_BOOL,
  KIN__YAML_NUMBER,
  KIN__YAML_STRING,
  KIN__YAML_LIST,
  KIN__YAML_MAP,
} kin__yaml_type;

typedef struct kin__yaml_item {
  kin_str key; /* empty in a list; NUL-terminated */
  uint32_t key_line;
  bool is_odd_key; /* a number; Go writes it otherwise than `key` */
  const struct kin__yaml_node *value;
  struct kin__yaml_item *next;
} kin__yaml_item;

typedef struct kin__yaml_node {
  kin__yaml_type type;
  bool is_quoted;        /* a scalar in quotes, or a block */
  bool truth;            /* of a boolean */
  uint32_t line;         /* from 1 on */
  kin_str text;          /* of a scalar, as written; NUL-terminated */
  kin__yaml_item *first; /* of a list or map, in the order of the text */
  size_t count;
} kin__yaml_node;

/* Why a text is refused. */
typedef struct kin__yaml_problem {
  uint32_t line;
  const char *what; /* static, has nothing of the text in it */
} kin__yaml_problem;

/* Puts the tree of `text` into the vault. *root is NULL if there is no
 * document. Errors: KIN_EINVAL (*problem is set), KIN_ENOMEM. */
int kin__yaml_parse(kin__vault *vault, kin_str text,
                    const kin__yaml_node **root, kin__yaml_problem *problem);

/* The type of a plain scalar. *truth is set for a boolean. */
kin__yaml_type kin__yaml_plain_type(kin_str text, bool *truth);

/* Whether Go writes a number as it stands: a decimal integer, such as -12. */
bool kin__yaml_is_plain_integer(kin_str text);

/* "a string", "a map", ...; static. */
const char *kin__yaml_type_name(kin__yaml_type type);

/* Appends a node as JSON text. Errors: KIN_EINVAL (a number that JSON does not
 * have, or an odd key), KIN_ETOOBIG (the buffer's bound), KIN_ENOMEM. */
int kin__yaml_to_json(kin__buf *out, const kin__yaml_node *node);

#endif /* KIN_CONFIG_YAML_H */
