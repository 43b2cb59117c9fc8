/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_OPTIONS_H
#define KINFORMER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/informer.h>

#include "kube.h"
#include "resource.h"
#include "security.h"

/* Exit statuses, part of the program's contract. */
enum {
  EXIT_DONE = 0,    /* as asked */
  EXIT_FAILED = 1,  /* a failure that ended it */
  EXIT_USAGE = 2,   /* the command line cannot be carried out */
  EXIT_TIMEOUT = 3, /* --timeout */
};

typedef enum output_format {
  FORMAT_AUTO, /* table on a terminal, else jsonl */
  FORMAT_JSONL,
  FORMAT_TABLE,
} output_format;

/* The command line. The strings are argv's, but for the token. */
typedef struct options {
  resource_name resource;
  const char *server; /* begins with http:// or https://; NULL: `kube` has it */
  kube_options kube_options;
  kube_choice *kube;
  security_options security;

  const char **namespaces; /* none: all, or a resource without */
  size_t namespace_count;
  bool has_default_namespace; /* it is nobody's wish */
  bool all_namespaces;

  const char *label_selector; /* NULL: none */
  const char *field_selector;

  uint32_t shard_index; /* as in kin_informer_options */
  uint32_t shard_count;
  uint32_t resync_ms; /* 0: none */
  uint32_t page_size; /* as in kin_informer_options */
  bool metadata_only;
  bool keep_managed_fields;
  kin_compact compact;
  bool no_watch_list;
  const char **fields; /* JSON Pointers */
  size_t field_count;

  uint64_t max_bytes; /* as in kin_informer_options */
  kin_memory_decision on_max_bytes;
  bool has_on_max_bytes;

  output_format format;
  bool show_object;
  const char *index_pointer; /* both or neither */
  const char *index_value;

  bool once;
  uint64_t exit_after; /* 0: never */
  uint64_t timeout_ms; /* 0: none */
  bool stats;
} options;

/* Reads the command line; lists in argv's strings are cut in place, and a token
 * is overwritten. Nothing that is said ever quotes the value of an option that
 * may hold a secret, nor of one that is unknown. Returns true if the program is
 * to run; otherwise *exit_status is set and whatever there was to say has been
 * said. options_finish is due in both cases. */
bool options_parse(options *out, int argc, char **argv, int *exit_status);

void options_finish(options *o);

/* Print what --help and --version show. Return the exit status. If standard
 * output takes nothing, that has been said. */
int print_help(void);
int print_version(void);

#endif /* KINFORMER_OPTIONS_H */
