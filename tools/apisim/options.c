/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "buf.h"
#include "mem.h"
#include "podshape.h"

typedef enum option_kind {
  OPTION_FLAG,
  OPTION_INT,
  OPTION_U64,
  OPTION_SIZE,
  OPTION_DOUBLE,
  OPTION_TEXT,
  OPTION_LIST,
  OPTION_TLS_VERSION,
} option_kind;

typedef struct option_spec {
  const char *name;
  option_kind kind;
  size_t offset;
  const char *argument;
  const char *help;
  double least, most; // of numbers
} option_spec;

#define AT(member) offsetof(options, member)

static const option_spec SPECS[] = {
    {"port", OPTION_INT, AT(port), "P",
     "listen on 127.0.0.1:P; 0 = any free port (0)", 0, 65535},
    {"seed", OPTION_U64, AT(seed), "N",
     "seed of everything random that clients see (1)", 0, 1e18},
    {"history", OPTION_U64, AT(history), "N",
     "revisions kept; older ones are compacted (20000)", 1, 1e9},
    {"bookmark-interval-ms", OPTION_U64, AT(bookmark_interval_ms), "MS",
     "time between bookmarks, up to a quarter more; 0 = none (60000)", 0, 1e9},
    {"token", OPTION_TEXT, AT(token), "T",
     "answer 401 to requests without this bearer token", 0, 0},
    {"tls-cert", OPTION_TEXT, AT(tls_cert), "FILE",
     "serve HTTPS with this certificate (PEM, chain after it)", 0, 0},
    {"tls-key", OPTION_TEXT, AT(tls_key), "FILE", "and its key (PEM)", 0, 0},
    {"tls-client-ca", OPTION_TEXT, AT(tls_client_ca), "FILE",
     "require client certificates that one of these (PEM) has signed", 0, 0},
    {"tls-min-version", OPTION_TLS_VERSION, AT(tls_min_version), "V",
     "least version: 1.1, 1.2 or 1.3 (1.2)", 0, 0},
    {"tls-max-version", OPTION_TLS_VERSION, AT(tls_max_version), "V",
     "and the greatest (1.3)", 0, 0},
    {"gzip", OPTION_FLAG, AT(gzip), NULL,
     "send lists from 128 KiB on as gzip to clients that take it", 0, 0},
    {"sharded-lists", OPTION_FLAG, AT(sharded_lists), NULL,
     "know shardSelector, as with the gate ShardedListAndWatch", 0, 0},
    {"forbid", OPTION_LIST, AT(forbid), "PLURAL",
     "answer 403 for this resource (repeatable)", 0, 0},
    {"resource", OPTION_LIST, AT(resources), "SPEC",
     "add a custom resource: plural.version.group[:Kind][:namespaced|cluster] "
     "(repeatable)",
     0, 0},
    {"fault", OPTION_LIST, AT(faults), "RULE",
     "kind,key=value,... as POST /sim/fault takes them (repeatable)", 0, 0},
    {"run-for", OPTION_DOUBLE, AT(run_for_s), "SECONDS",
     "end after this time; 0 = on SIGINT or SIGTERM (0)", 0, 1e9},
    {"pods", OPTION_U64, AT(pods), "N", "pods there at the start (0)", 0, 1e8},
    {"namespaces", OPTION_U64, AT(namespaces), "K",
     "spread them over ns-0 to ns-(K-1) (10)", 1, 1e6},
    {"object-bytes", OPTION_SIZE, AT(object_bytes), "B",
     "size of a pod in bytes, at least about 1060 (5400)", 0, 1 << 20},
    {"shapes", OPTION_U64, AT(shapes), "N",
     "pods of N shapes and sizes, of that size on average; 0 = all alike (0)",
     0, PODSHAPE_MOST},
    {"churn", OPTION_DOUBLE, AT(churn), "R",
     "changes to these pods a second (0)", 0, 1e6},
    {"replay", OPTION_FLAG, AT(replay), NULL,
     "serve /api/v1/pods from rendered bytes, for benchmarks", 0, 0},
    {"replay-metadata", OPTION_FLAG, AT(replay_metadata), NULL,
     "render PartialObjectMetadata for it at the start, too", 0, 0},
    {"replay-events", OPTION_U64, AT(replay_events), "M",
     "MODIFIED events a replay watch sends (0)", 0, 1e8},
    {"replay-rate", OPTION_DOUBLE, AT(replay_rate), "R",
     "of them a second; 0 = as fast as the client reads (0)", 0, 1e8},
    {"replay-changed", OPTION_DOUBLE, AT(replay_changed), "PERCENT",
     "objects changed in each replay list after the first (0)", 0, 100},
    {"replay-resource", OPTION_TEXT, AT(replay_resource), "PLURAL",
     "replay these pods as objects of a custom resource (pods)", 0, 0},
};

enum { SPEC_COUNT = sizeof SPECS / sizeof SPECS[0] };

int options_end_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) {
    return 0;
  }
  fprintf(stderr, "kin-apisim: standard output: %s\n",
          uv_strerror(uv_translate_sys_error(errno)));
  return 1;
}

static int print_help(void) {
  puts("kin-apisim: a simulated Kubernetes API server on the loopback "
       "interface\n\nUsage: kin-apisim [options]\n");
  for (size_t i = 0; i < SPEC_COUNT; i++) {
    char name[64];
    snprintf(name, sizeof name, "--%s %s", SPECS[i].name,
             SPECS[i].argument != NULL ? SPECS[i].argument : "");
    printf("  %-28s %s\n", name, SPECS[i].help);
  }
  printf("  %-28s %s\n", "--version", "print the version");
  puts("\nFaults and control requests: see doc/kin-apisim.md.");
  return options_end_output();
}

static int print_version(void) {
  puts("kin-apisim " KIN_APISIM_VERSION);
  return options_end_output();
}

static int usage_error(const char *what, const char *which) {
  fprintf(stderr, "kin-apisim: %s: %s (try --help)\n", which, what);
  return 2;
}

static const option_spec *find(const char *name, size_t len) {
  for (size_t i = 0; i < SPEC_COUNT; i++) {
    if (strlen(SPECS[i].name) == len &&
        strncmp(SPECS[i].name, name, len) == 0) {
      return &SPECS[i];
    }
  }
  return NULL;
}

/* strtod alone takes blanks, hexadecimal digits and words, too. */
static bool store_double(double *at, const option_spec *spec,
                         const char *text) {
  char *end;
  errno = 0;
  double value = strtod(text, &end);
  *at = value;
  return end != text && text[strspn(text, "0123456789.eE+-")] == '\0' &&
         *end == '\0' && errno == 0 && value >= spec->least &&
         value <= spec->most;
}

static bool store_number(void *at, const option_spec *spec, const char *text) {
  uint64_t value;
  if (!slice_to_u64(slice_of(text), &value) || value < (uint64_t)spec->least ||
      value > (uint64_t)spec->most) {
    return false;
  }
  if (spec->kind == OPTION_INT) {
    *(int *)at = (int)value;
  } else if (spec->kind == OPTION_SIZE) {
    *(size_t *)at = (size_t)value;
  } else {
    *(uint64_t *)at = value;
  }
  return true;
}

static bool store_value(options *o, const option_spec *spec, const char *text) {
  void *at = (char *)o + spec->offset;
  switch (spec->kind) {
  case OPTION_FLAG:
    *(bool *)at = true;
    return true;
  case OPTION_TEXT:
    *(const char **)at = text;
    return true;
  case OPTION_LIST: {
    text_list *list = at;
    list->items = xrealloc(list->items, list->count + 1, sizeof(char *));
    list->items[list->count++] = text;
    return true;
  }
  case OPTION_TLS_VERSION:
    if (strlen(text) != 3 || strncmp(text, "1.", 2) != 0 || text[2] < '1' ||
        text[2] > '3') {
      return false;
    }
    *(int *)at = text[2] - '0';
    return true;
  case OPTION_DOUBLE:
    return store_double(at, spec, text);
  default:
    return store_number(at, spec, text);
  }
}

/* Returns what options_parse() does. */
static int check_tls(const options *o) {
  if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
    return usage_error("need each other", "--tls-cert and --tls-key");
  }
  bool more = o->tls_client_ca != NULL || o->tls_min_version != 0 ||
              o->tls_max_version != 0;
  if (more && o->tls_cert == NULL) {
    return usage_error("need --tls-cert and --tls-key", "--tls options");
  }
  int max = o->tls_max_version;
  if (max != 0 && o->tls_min_version > max) {
    return usage_error("above --tls-max-version", "--tls-min-version");
  }
  return -1;
}

int options_parse(options *o, int argc, char **argv) {
  *o = (options){
      .seed = 1,
      .history = 20000,
      .bookmark_interval_ms = 60000,
      .namespaces = 10,
      .object_bytes = 5400,
      .replay_resource = "pods",
  };
  for (int i = 1; i < argc; i++) {
    const char *arg = argv[i];
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
      return print_help();
    }
    if (strcmp(arg, "--version") == 0) {
      return print_version();
    }
    if (strncmp(arg, "--", 2) != 0) {
      return usage_error("unexpected argument", arg);
    }
    const char *equal = strchr(arg, '=');
    size_t len = equal != NULL ? (size_t)(equal - arg) - 2 : strlen(arg) - 2;
    const option_spec *spec = find(arg + 2, len);
    if (spec == NULL) {
      return usage_error("no such option", arg);
    }
    const char *value = equal != NULL ? equal + 1 : NULL;
    if (spec->kind != OPTION_FLAG && value == NULL && ++i < argc) {
      value = argv[i];
    }
    if ((spec->kind != OPTION_FLAG) != (value != NULL)) {
      return usage_error(value != NULL ? "takes no value" : "needs a value",
                         arg);
    }
    if (!store_value(o, spec, value)) {
      return usage_error("value out of range", arg);
    }
  }
  return check_tls(o);
}

void options_free(options *o) {
  free(o->forbid.items);
  free(o->resources.items);
  free(o->faults.items);
}
