/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/handler.h>

#include "choose_server.h"
#include "kept.h"
#include "outcome.h"
#include "values.h"
#include "words.h"

enum {
  OPT_FIELD_SELECTOR = 256,
  OPT_SERVER,
  OPT_TOKEN,
  OPT_TOKEN_FILE,
  OPT_CERTIFICATE_AUTHORITY,
  OPT_CLIENT_CERTIFICATE,
  OPT_CLIENT_KEY,
  OPT_TLS_SERVER_NAME,
  OPT_INSECURE_SKIP_TLS_VERIFY,
  OPT_AS,
  OPT_AS_GROUP,
  OPT_KUBECONFIG,
  OPT_CONTEXT,
  OPT_CLUSTER,
  OPT_USER,
  OPT_SHARD,
  OPT_RESYNC,
  OPT_PAGE_SIZE,
  OPT_NO_WATCH_LIST,
  OPT_METADATA_ONLY,
  OPT_KEEP_MANAGED_FIELDS,
  OPT_FIELDS,
  OPT_MAX_BYTES,
  OPT_ON_MAX_BYTES,
  OPT_SHOW_OBJECT,
  OPT_INDEX,
  OPT_BY,
  OPT_ONCE,
  OPT_EXIT_AFTER,
  OPT_TIMEOUT,
  OPT_STATS,
  OPT_VERSION,
  OPT_COMPACT,
};

static const struct option long_options[] = {
    {"namespace", required_argument, NULL, 'n'},
    {"all-namespaces", no_argument, NULL, 'A'},
    {"selector", required_argument, NULL, 'l'},
    {"field-selector", required_argument, NULL, OPT_FIELD_SELECTOR},
    {"server", required_argument, NULL, OPT_SERVER},
    {"token", required_argument, NULL, OPT_TOKEN},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
    {"certificate-authority", required_argument, NULL,
     OPT_CERTIFICATE_AUTHORITY},
    {"client-certificate", required_argument, NULL, OPT_CLIENT_CERTIFICATE},
    {"client-key", required_argument, NULL, OPT_CLIENT_KEY},
    {"tls-server-name", required_argument, NULL, OPT_TLS_SERVER_NAME},
    {"insecure-skip-tls-verify", no_argument, NULL,
     OPT_INSECURE_SKIP_TLS_VERIFY},
    {"as", required_argument, NULL, OPT_AS},
    {"as-group", required_argument, NULL, OPT_AS_GROUP},
    {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
    {"context", required_argument, NULL, OPT_CONTEXT},
    {"cluster", required_argument, NULL, OPT_CLUSTER},
    {"user", required_argument, NULL, OPT_USER},
    {"shard", required_argument, NULL, OPT_SHARD},
    {"resync", required_argument, NULL, OPT_RESYNC},
    {"page-size", required_argument, NULL, OPT_PAGE_SIZE},
    {"no-watch-list", no_argument, NULL, OPT_NO_WATCH_LIST},
    {"metadata-only", no_argument, NULL, OPT_METADATA_ONLY},
    {"keep-managed-fields", no_argument, NULL, OPT_KEEP_MANAGED_FIELDS},
    {"fields", required_argument, NULL, OPT_FIELDS},
    {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},
    {"on-max-bytes", required_argument, NULL, OPT_ON_MAX_BYTES},
    {"compact", optional_argument, NULL, OPT_COMPACT},
    {"output", required_argument, NULL, 'o'},
    {"show-object", no_argument, NULL, OPT_SHOW_OBJECT},
    {"index", required_argument, NULL, OPT_INDEX},
    {"by", required_argument, NULL, OPT_BY},
    {"once", no_argument, NULL, OPT_ONCE},
    {"exit-after", required_argument, NULL, OPT_EXIT_AFTER},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"stats", no_argument, NULL, OPT_STATS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char short_options[] = ":n:Al:o:h";

/* ---- single options */

static outcome append(const char ***items, size_t *count, const char *item) {
  const char **grown = realloc(*items, (*count + 1) * sizeof(*grown));
  if (!grown) {
    return NO_MEMORY;
  }
  grown[(*count)++] = item;
  *items = grown;
  return GO_ON;
}

static outcome add_namespace(options *o, const char *name) {
  if (*name == '\0') {
    return refuse("-n needs the name of a namespace");
  }
  if (!is_namespace(name)) {
    return refuse("-n: \"%.80s\" is no namespace name", name);
  }
  for (size_t i = 0; i < o->namespace_count; i++) {
    if (strcmp(o->namespaces[i], name) == 0) {
      return refuse("-n %s is given twice", name);
    }
  }
  return append(&o->namespaces, &o->namespace_count, name);
}

static outcome add_group(security_options *s, const char *name) {
  if (*name == '\0') {
    return refuse("--as-group needs the name of a group");
  }
  return append(&s->as_groups, &s->as_group_count, name);
}

static outcome set_name(const char **to, const char *option,
                        const char *value) {
  if (*value == '\0') {
    return refuse("--%s needs a name", option);
  }
  *to = value;
  return GO_ON;
}

static outcome set_selector(const char **to, const char *option,
                            const char *value) {
  *to = value;
  return is_selector(value) ? GO_ON : refuse("%s: over 64 KiB", option);
}

static outcome add_fields(options *o, char *list) {
  for (char *next = list; next;) {
    char *field = next;
    next = strchr(field, ',');
    if (next) {
      *next++ = '\0';
    }
    if (!is_pointer(field)) {
      return refuse("--fields %s: not a JSON Pointer such as /spec/nodeName",
                    field);
    }
    if (append(&o->fields, &o->field_count, field) != GO_ON) {
      return NO_MEMORY;
    }
  }
  return GO_ON;
}

static outcome set_server(options *o, const char *url) {
  if (!is_server(url)) { /* a password may be in it */
    return refuse("--server: needs https://, http:// or unix://");
  }
  o->server = url;
  return GO_ON;
}

static outcome set_format(options *o, const char *name) {
  if (strcmp(name, "jsonl") == 0) {
    o->format = FORMAT_JSONL;
  } else if (strcmp(name, "table") == 0) {
    o->format = FORMAT_TABLE;
  } else {
    return refuse("-o %s: must be jsonl or table", name);
  }
  return GO_ON;
}

static outcome set_pointer(options *o, const char *pointer) {
  if (!is_pointer(pointer)) {
    return refuse("--index %s: not a JSON Pointer such as /spec/nodeName",
                  pointer);
  }
  o->index_pointer = pointer;
  return GO_ON;
}

static outcome set_resync(options *o, const char *seconds) {
  uint64_t ms;
  if (!parse_seconds(seconds, KIN_NEVER - 1, &ms) || (ms > 0 && ms < 1000)) {
    return refuse("--resync %s: must be a number of seconds, 0 for never, or 1 "
                  "to 4294967",
                  seconds);
  }
  o->resync_ms = (uint32_t)ms;
  return GO_ON;
}

static outcome set_timeout(options *o, const char *seconds) {
  if (!parse_seconds(seconds, (uint64_t)1000000000 * 1000, &o->timeout_ms) ||
      o->timeout_ms == 0) {
    return refuse("--timeout %s: must be a number of seconds above 0 and up to "
                  "1000000000",
                  seconds);
  }
  return GO_ON;
}

static outcome set_page_size(options *o, const char *number) {
  uint64_t size;
  if (!parse_u64(number, INT32_MAX, &size)) {
    return refuse("--page-size %s: must be a number up to 2147483647", number);
  }
  o->page_size = size == 0 ? KIN_NEVER : (uint32_t)size;
  return GO_ON;
}

static outcome set_shard(options *o, const char *part) {
  if (!parse_part(part, 4096, &o->shard_index, &o->shard_count)) {
    return refuse("--shard %s: must be INDEX/COUNT, from 0/COUNT up; at most "
                  "4096 shards",
                  part);
  }
  return GO_ON;
}

static outcome set_max_bytes(options *o, const char *bytes) {
  if (!parse_bytes(bytes, &o->max_bytes)) {
    return refuse("--max-bytes %s: must be a number of bytes, 1 to "
                  "18446744073709551615, such as 500000, 64Ki, 512Mi or 2Gi",
                  bytes);
  }
  return GO_ON;
}

static outcome set_on_max_bytes(options *o, const char *decision) {
  o->has_on_max_bytes = true;
  return parse_decision(decision, &o->on_max_bytes)
             ? GO_ON
             : refuse("--on-max-bytes %s: must be drop, pause or stop",
                      decision);
}

static outcome set_exit_after(options *o, const char *number) {
  if (!parse_u64(number, UINT64_MAX, &o->exit_after) || o->exit_after == 0) {
    return refuse("--exit-after %s: must be a number, 1 to "
                  "18446744073709551615",
                  number);
  }
  return GO_ON;
}

static outcome take_security(security_options *s, int c, const char *name) {
  switch (c) {
  case OPT_TOKEN:
    return security_take_token(s, optarg) ? GO_ON : NO_MEMORY;
  case OPT_TOKEN_FILE:
    s->token_file = optarg;
    return GO_ON;
  case OPT_CERTIFICATE_AUTHORITY:
    s->certificate_authority = optarg;
    return GO_ON;
  case OPT_CLIENT_CERTIFICATE:
    s->client_certificate = optarg;
    return GO_ON;
  case OPT_CLIENT_KEY:
    s->client_key = optarg;
    return GO_ON;
  case OPT_TLS_SERVER_NAME:
    s->tls_server_name = optarg;
    return GO_ON;
  case OPT_INSECURE_SKIP_TLS_VERIFY:
    s->insecure_skip_tls_verify = true;
    return GO_ON;
  case OPT_AS:
    return set_name(&s->as, name, optarg);
  case OPT_AS_GROUP:
    return add_group(s, optarg);
  default:
    return refuse("--%s is not supported by this version", name);
  }
}

static outcome take_kube(options *o, int c, const char *name) {
  kube_options *k = &o->kube_options;
  switch (c) {
  case OPT_KUBECONFIG:
    return set_name(&k->kubeconfig, name, optarg);
  case OPT_CONTEXT:
    return set_name(&k->context, name, optarg);
  case OPT_CLUSTER:
    return set_name(&k->cluster, name, optarg);
  case OPT_USER:
    return set_name(&k->user, name, optarg);
  default:
    return take_security(&o->security, c, name);
  }
}

static outcome take(options *o, int c, const char *name) {
  switch (c) {
  case 'n':
    return add_namespace(o, optarg);
  case 'A':
    o->all_namespaces = true;
    return GO_ON;
  case 'l':
    return set_selector(&o->label_selector, "-l", optarg);
  case 'o':
    return set_format(o, optarg);
  case 'h':
    return SHOW_HELP;
  case OPT_VERSION:
    return SHOW_VERSION;
  case OPT_FIELD_SELECTOR:
    return set_selector(&o->field_selector, "--field-selector", optarg);
  case OPT_SERVER:
    return set_server(o, optarg);
  case OPT_SHARD:
    return set_shard(o, optarg);
  case OPT_RESYNC:
    return set_resync(o, optarg);
  case OPT_PAGE_SIZE:
    return set_page_size(o, optarg);
  case OPT_NO_WATCH_LIST:
    o->no_watch_list = true;
    return GO_ON;
  case OPT_METADATA_ONLY:
    o->metadata_only = true;
    return GO_ON;
  case OPT_KEEP_MANAGED_FIELDS:
    o->keep_managed_fields = true;
    return GO_ON;
  case OPT_FIELDS:
    return add_fields(o, optarg);
  case OPT_MAX_BYTES:
    return set_max_bytes(o, optarg);
  case OPT_ON_MAX_BYTES:
    return set_on_max_bytes(o, optarg);
  case OPT_COMPACT:
    return parse_compact(optarg, &o->compact)
               ? GO_ON
               : refuse("--compact: \"%s\" is neither fast nor small", optarg);
  case OPT_SHOW_OBJECT:
    o->show_object = true;
    return GO_ON;
  case OPT_INDEX:
    return set_pointer(o, optarg);
  case OPT_BY:
    o->index_value = optarg;
    return GO_ON;
  case OPT_ONCE:
    o->once = true;
    return GO_ON;
  case OPT_EXIT_AFTER:
    return set_exit_after(o, optarg);
  case OPT_TIMEOUT:
    return set_timeout(o, optarg);
  case OPT_STATS:
    o->stats = true;
    return GO_ON;
  default:
    return take_kube(o, c, name);
  }
}

/* ---- what is no option */

static const char *name_of_value(int value) {
  const struct option *o = long_options;
  while (o->name && o->val != value) {
    o++;
  }
  return o->name ? o->name : "?";
}

/* Instead of getopt_long, which quotes `--tokn=SECRET` as a whole. `c` is '?'
 * or ':', and optopt 0 for a long name. */
static outcome refuse_option(int c, const char *given) {
  if (c == ':') {
    return refuse("%.*s needs a value", (int)strcspn(given, "="), given);
  }
  if (optopt == 0) {
    return refuse("%.*s: no such option, or short for several",
                  (int)strcspn(given, "="), given);
  }
  if (optopt == ':' ||
      (optopt < OPT_FIELD_SELECTOR && !strchr(short_options, optopt))) {
    return refuse("-%c: no such option", optopt);
  }
  return refuse("--%s takes no value", name_of_value(optopt));
}

/* ---- the whole */

static outcome set_resource(options *o, const char *name) {
  switch (resource_parse(&o->resource, name)) {
  case RESOURCE_OK:
    return GO_ON;
  case RESOURCE_NO_MEMORY:
    return NO_MEMORY;
  case RESOURCE_MALFORMED:
  default:
    return refuse("%s: must be a word such as pods, plural.group or "
                  "plural.version.group",
                  name);
  }
}

/* What one option cannot know of another. */
static outcome check_together(options *o) {
  if (o->all_namespaces && o->namespace_count > 0) {
    return refuse("-n and -A exclude each other");
  }
  if (o->resource.is_cluster_scoped && o->namespace_count > 0) {
    return refuse("-n: %s have no namespace", o->resource.plural);
  }
  if (!o->index_pointer != !o->index_value) {
    return refuse("--index and --by need each other");
  }
  char complaint[512];
  if (kept_complaint(o, complaint, sizeof(complaint))) {
    return refuse("%s", complaint);
  }
  if (o->has_on_max_bytes && o->max_bytes == 0) {
    return refuse("--on-max-bytes needs --max-bytes");
  }
  if (o->once && !o->has_on_max_bytes) {
    o->on_max_bytes = KIN_MEMORY_STOP; /* a pause might have no end */
  }
  if (o->once && o->exit_after > 0) {
    return refuse("--once and --exit-after exclude each other");
  }
  if (o->resource.word && !words_are_supported()) {
    if (!o->resource.version) {
      return refuse("%s: is not built in; this build cannot ask the server, so "
                    "please write plural.version.group",
                    o->resource.word);
    }
    o->resource.word = NULL; /* the names in it are believed */
  }
  if (o->show_object && o->format == FORMAT_TABLE) {
    return refuse("--show-object needs -o jsonl");
  }
  if (o->show_object) {
    o->format = FORMAT_JSONL;
  }
  outcome result = choose_server(o);
  if (result == GO_ON && !o->all_namespaces && o->namespace_count == 0 &&
      !o->resource.is_cluster_scoped) {
    o->has_default_namespace = true;
    return add_namespace(o, o->kube ? kube_namespace(o->kube) : "default");
  }
  return result;
}

/* A token without quotes around it may have left its second word here. */
static outcome refuse_operands(const options *o, int count, char **operands) {
  if (count == 0) {
    return refuse("which RESOURCE?");
  }
  if (o->security.token) {
    return refuse("more than one RESOURCE; a token is one word");
  }
  return refuse("%s: only one RESOURCE can be followed", operands[1]);
}

/* musl counts the value that a short option lacks as an argument, NULL. */
static const char *last_option(char **argv) {
  const char *option = argv[optind - 1];
  return option ? option : argv[optind - 2];
}

static outcome read_options(options *o, int argc, char **argv) {
  int c;
  int index = 0;
  opterr = 0;
  while ((c = getopt_long(argc, argv, short_options, long_options, &index)) !=
         -1) {
    outcome result = c == '?' || c == ':'
                         ? refuse_option(c, last_option(argv))
                         : take(o, c, long_options[index].name);
    if (result != GO_ON) {
      return result;
    }
  }
  if (argc - optind != 1) {
    return refuse_operands(o, argc - optind, argv + optind);
  }
  outcome result = set_resource(o, argv[optind]);
  return result == GO_ON ? check_together(o) : result;
}

bool options_parse(options *out, int argc, char **argv, int *exit_status) {
  *out = (options){0};
  switch (read_options(out, argc, argv)) {
  case GO_ON:
    return true;
  case SHOW_HELP:
    *exit_status = print_help();
    return false;
  case SHOW_VERSION:
    *exit_status = print_version();
    return false;
  case NO_MEMORY:
    fputs("kinformer: out of memory\n", stderr);
    *exit_status = EXIT_FAILED;
    return false;
  case CANNOT:
    *exit_status = EXIT_FAILED;
    return false;
  case BAD_USAGE:
  default:
    fputs("Try 'kinformer --help'.\n", stderr);
    *exit_status = EXIT_USAGE;
    return false;
  }
}

void options_finish(options *o) {
  resource_finish(&o->resource);
  kube_free(o->kube);
  security_finish(&o->security);
  free(o->namespaces);
  free(o->fields);
  *o = (options){0};
}
