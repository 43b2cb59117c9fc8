/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_TEXT_H
#define KIN_SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/api.h"

/* Bytes as an API server writes them. A write has one style for ever: compact
 * or indented, with its members in this order or that, plain or with escapes;
 * so whoever watches and whoever lists get the same object in the same
 * words. */

typedef struct sim_text {
  char *data;
  size_t length;
  size_t capacity;
} sim_text;

void sim_text_free(sim_text *text);
__attribute__((format(printf, 2, 3))) void
sim_text_add(sim_text *text, const char *format, ...);

/* How much of an object there is. */
typedef enum sim_form {
  SIM_FORM_FULL,     /* with managedFields */
  SIM_FORM_KEPT,     /* without them, as an informer keeps it by default */
  SIM_FORM_SHORT,    /* the same without /spec/text, as a transform leaves it */
  SIM_FORM_KEY,      /* name, namespace, uid, version and labels only */
  SIM_FORM_NODE,     /* metadata's fixed members and /spec/nodeName only */
  SIM_FORM_METADATA, /* PartialObjectMetadata, with managedFields */
  SIM_FORM_METADATA_KEPT
} sim_form;

/* The object at that write; `revision` is its resourceVersion, which is another
 * one in a DELETED event. Kind and apiVersion are left out as in a list of a
 * built-in type unless `has_kind`. */
void sim_text_object(sim_text *text, const api_write *write, int number,
                     uint64_t revision, sim_form form, bool has_kind);

/* {"type":...} and a newline. */
void sim_text_event(sim_text *text, const char *type, const api_write *write,
                    int number, uint64_t revision, bool is_metadata);
/* `is_initial_end`: with the annotation that ends the initial events. */
void sim_text_bookmark(sim_text *text, uint64_t revision, bool is_initial_end);

/* A Status of kind Failure; `reason` as the real server has it for that code.
 * `more` is put among its members and may be "". */
void sim_text_status(sim_text *text, int code, const char *reason,
                     const char *message, const char *more);

#endif /* KIN_SIM_TEXT_H */
