/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_KUBE_READER_H
#define KIN_CONFIG_KUBE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "config/kube_set.h"
#include "config/yaml.h"

/* Reads one file. Each struct has a table of its fields. Fields that no table
 * names are ignored, as kubectl does, and null is as good as absent. A value of
 * a wrong type is a problem, and counts as absent. */

#define KIN__KUBE_FIELD_PATH_SIZE 256u

typedef struct kin__kube_reader {
  kin__kube_set *set;
  const char *file;
  kin__problems *problems;
  /* Of the value in hand, such as users[1].user.token; cut if it is longer. */
  char path[KIN__KUBE_FIELD_PATH_SIZE];
  size_t path_length;
} kin__kube_reader;

/* Reads a value, which is not null, into the field at `to`. Adds what is wrong
 * to the problems. Errors: KIN_ENOMEM. */
typedef int (*kin__kube_read_fn)(kin__kube_reader *reader,
                                 const kin__yaml_node *node, void *to);

typedef struct kin__kube_field {
  const char *name; /* NULL: the end of the table */
  kin__kube_read_fn read;
  size_t offset; /* in the struct */
} kin__kube_field;

extern const kin__kube_field kin__kube_user_fields[]; /* of a kin__kube_user */

kin__config_place kin__kube_place(const kin__kube_reader *reader,
                                  const kin__yaml_node *node);
void kin__kube_wrong_type(kin__kube_reader *reader, const kin__yaml_node *node,
                          const char *wanted);
/* Whether a node can be taken as a C string; else that is a problem. */
bool kin__kube_is_text(kin__kube_reader *reader, const kin__yaml_node *node);

/* --- Fields, by the type of `to` --- */

/* A kin__kube_text: as it is; a path; a command, which is a path if it has a
 * slash; base64. */
int kin__kube_read_text(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to);
int kin__kube_read_path(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to);
int kin__kube_read_command(kin__kube_reader *reader, const kin__yaml_node *node,
                           void *to);
int kin__kube_read_data(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to);
/* A const char *: "" stays if there is none; NULL if it is of a wrong type. */
int kin__kube_read_name(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to);
/* A bool. */
int kin__kube_read_truth(kin__kube_reader *reader, const kin__yaml_node *node,
                         void *to);
/* A kin__kube_list. */
int kin__kube_read_list(kin__kube_reader *reader, const kin__yaml_node *node,
                        void *to);

/* --- Structs and lists --- */

/* `to` is the struct. */
int kin__kube_read_fields(kin__kube_reader *reader, const kin__yaml_node *node,
                          const kin__kube_field *fields, void *to);

/* Calls `read` with each element of a list. Null is an empty text in a list of
 * texts, and no element in a list of structs. */
int kin__kube_read_elements(kin__kube_reader *reader,
                            const kin__yaml_node *node,
                            int (*read)(kin__kube_reader *reader,
                                        const kin__yaml_node *node,
                                        uint32_t index, void *to),
                            void *to);

/* In the vault of the set. */
typedef struct kin__kube_text_list {
  const char **values;
  size_t count;
} kin__kube_text_list;

int kin__kube_read_texts(kin__kube_reader *reader, const kin__yaml_node *node,
                         kin__kube_text_list *list);

#endif /* KIN_CONFIG_KUBE_READER_H */
