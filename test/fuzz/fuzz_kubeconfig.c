/* SPDX-License-Identifier: MIT */

/* Kubeconfig files: options, and JSON. Oracles:
 *  - what is resolved from JSON equals what is resolved from the same document
 *    written as YAML, by a writer that shares nothing with the reader
 *  - a text that is cut in two files is read or refused, and every refusal has
 *    a text without control characters
 *  - with an allocation that fails nothing is left, and no other problem is
 *    told
 *
 * One option takes the input as it is, which need not be JSON. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "config/kube_load.h"
#include "config/yaml.h"
#include "fuzz/fuzz.h"
#include "support/fail_alloc.h"

/* --- Surroundings --------------------------------------------------------- */

typedef struct surroundings {
  kin_str files[2];
  bool is_pod;
} surroundings;

static const char *get_variable(void *ctx, const char *name) {
  const surroundings *s = ctx;
  if (strcmp(name, "KUBECONFIG") == 0) {
    return "/k/0:/k/1";
  }
  return s->is_pod && strncmp(name, "KUBERNETES_", 11) == 0 ? "1" : NULL;
}

static int read_content(void *ctx, kin__vault *vault, const char *path,
                        size_t max_bytes, kin_str *text) {
  const surroundings *s = ctx;
  if (strncmp(path, "/k/", 3) != 0 || strlen(path) != 4) {
    return KIN_ENOENT;
  }
  kin_str file = s->files[path[3] == '1'];
  if (file.length > max_bytes) {
    return KIN_ETOOBIG;
  }
  const char *copy = kin__vault_copy(vault, file);
  *text = kin__str(copy, file.length);
  return copy != NULL ? 0 : KIN_ENOMEM;
}

/* Every other file has content. */
static int probe_content(void *ctx, const char *path) {
  (void)ctx;
  return strstr(path, "none") != NULL ? KIN_ENOENT : 0;
}

/* --- The result as text --------------------------------------------------- */

typedef struct outcome {
  int err;
  kin__buf text; /* of what was resolved */
  size_t problems;
  bool is_no_yaml;
} outcome;

static void put(outcome *o, const char *value) {
  FUZZ_CHECK(kin__buf_printf(&o->text, "%s\n", value != NULL ? value : "-") ==
             0);
}

static void put_exec(outcome *o, const kin__resolved_exec *exec) {
  put(o, exec->api_version);
  put(o, exec->command);
  for (size_t i = 0; i < exec->arg_count; i++) {
    put(o, exec->args[i]);
  }
  for (size_t i = 0; i < exec->env_count; i++) {
    put(o, exec->env[i].name);
    put(o, exec->env[i].value);
  }
  put(o, exec->install_hint);
  put(o, exec->interactive_mode);
  put(o, exec->provide_cluster_info ? "true" : "false");
  put(o, exec->config);
}

static void put_all(outcome *o, const kin__resolved_config *c) {
  const char *const texts[] = {c->server,
                               c->tls_server_name,
                               c->certificate_authority_file,
                               c->certificate_authority_data,
                               c->insecure_skip_tls_verify ? "insecure" : "",
                               c->proxy_url,
                               c->disable_compression ? "plain" : "",
                               c->client_certificate_file,
                               c->client_certificate_data,
                               c->client_key_file,
                               c->client_key_data,
                               c->token,
                               c->token_file,
                               c->username,
                               c->password,
                               c->impersonate_user,
                               c->impersonate_uid,
                               c->namespace_,
                               c->context,
                               c->cluster,
                               c->user};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    put(o, texts[i]);
  }
  for (size_t i = 0; i < c->impersonate_group_count; i++) {
    put(o, c->impersonate_groups[i]);
  }
  for (size_t i = 0; i < c->impersonate_extra_count; i++) {
    put(o, c->impersonate_extra[i].key);
    put(o, c->impersonate_extra[i].value);
  }
  for (size_t i = 0; i < c->context_count; i++) {
    put(o, c->contexts[i]);
  }
  if (c->exec != NULL) {
    put_exec(o, c->exec);
  }
}

static void check_problems(const kin__problems *problems, int err) {
  FUZZ_CHECK(strlen(problems->text) < sizeof problems->text);
  FUZZ_CHECK((problems->count > 0) == (problems->text[0] != '\0'));
  FUZZ_CHECK(err != 0 || problems->count == 0);
  FUZZ_CHECK(err == 0 || err == KIN_ENOMEM || problems->count > 0);
  for (const char *c = problems->text; *c != '\0'; c++) {
    FUZZ_CHECK(*c == '\n' || ((unsigned char)*c >= 0x20 && *c != 0x7f));
  }
}

/* Loads with allocation `fail_at` failing; 0: none. */
static outcome load(surroundings *s, size_t fail_at) {
  static const kin_kubeconfig_options none = {.context = NULL};
  const kin__config_env env = {.getenv = get_variable,
                               .read = read_content,
                               .probe = probe_content,
                               .explain = kin_strerror,
                               .ctx = s};
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin__problems problems;
  kin__problems_init(&problems);
  kin__resolved_config config;
  kin__resolved_config_init(&config, &memory.allocator);
  outcome o = {.err = kin__kube_load(&config, &none, &env, &problems)};
  kin__buf_init(&o.text, kin__default_allocator(), 1u << 27);
  o.problems = problems.count;
  o.is_no_yaml = strstr(problems.text, "not valid YAML") != NULL;
  check_problems(&problems, o.err);
  FUZZ_CHECK((o.err == KIN_ENOMEM) == fail_alloc_has_failed(&memory));
  if (o.err == 0) {
    put_all(&o, &config);
  }
  kin__resolved_config_finish(&config);
  FUZZ_CHECK(memory.live_blocks == 0);
  return o;
}

/* --- JSON as YAML --------------------------------------------------------- */

/* Writes a document in the block style. `choices` decides, where YAML has more
 * than one form for a value. */
typedef struct writer {
  kin__buf out;
  uint32_t choices;
} writer;

static void add(writer *w, const char *text) {
  FUZZ_CHECK(kin__buf_append_cstr(&w->out, text) == 0);
}

static unsigned choose(writer *w, unsigned count) {
  w->choices = w->choices * 1664525u + 1013904223u;
  return (w->choices >> 16) % count;
}

static void add_line(writer *w, unsigned level) {
  add(w, choose(w, 8) == 0 ? " # comment: [\n" : "\n");
  for (unsigned i = 0; i < level; i++) {
    add(w, "  ");
  }
}

/* A word that is a string in each YAML, and in no need of quotes. */
static bool is_plain(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool is_letter = c >= 'a' && c <= 'z';
    if (!(is_letter || (i > 0 && (c == '-' || c == '/' || c == '.')))) {
      return false;
    }
  }
  return length > 5; /* longer than every word with a meaning */
}

/* Reads a character of valid UTF-8. */
static uint32_t take(const char **text, size_t *length) {
  unsigned char first = (unsigned char)**text;
  size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t value = more == 0 ? first : first & (0x3fu >> more);
  for (size_t i = 1; i <= more; i++) {
    value = value << 6 | ((unsigned char)(*text)[i] & 0x3f);
  }
  *text += more + 1;
  *length -= more + 1;
  return value;
}

static void add_escaped(writer *w, const char *text, size_t length) {
  add(w, "\"");
  while (length > 0) {
    uint32_t c = take(&text, &length);
    char plain = (char)c;
    if (c > 0xffff) {
      FUZZ_CHECK(kin__buf_printf(&w->out, "\\U%08x", (unsigned)c) == 0);
    } else if (c > 0x7e) {
      FUZZ_CHECK(kin__buf_printf(&w->out, "\\u%04x", (unsigned)c) == 0);
    } else if (c < 0x20 || c == '"' || c == '\\' || choose(w, 16) == 0) {
      FUZZ_CHECK(kin__buf_printf(&w->out, "\\x%02x", (unsigned)c) == 0);
    } else {
      FUZZ_CHECK(kin__buf_append(&w->out, &plain, 1) == 0);
    }
  }
  add(w, "\"");
}

static bool is_printable(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] < 0x20 || text[i] > 0x7e) {
      return false;
    }
  }
  return true;
}

static void add_string(writer *w, const char *text, size_t length) {
  unsigned form = choose(w, 3);
  if (form == 0 && is_plain(text, length)) {
    FUZZ_CHECK(kin__buf_append(&w->out, text, length) == 0);
  } else if (form == 1 && is_printable(text, length)) {
    add(w, "'");
    for (size_t i = 0; i < length; i++) {
      FUZZ_CHECK(kin__buf_append(&w->out, text + i, 1) == 0);
      add(w, text[i] == '\'' ? "'" : "");
    }
    add(w, "'");
  } else {
    add_escaped(w, text, length);
  }
}

static void add_value(writer *w, yyjson_val *value, unsigned level);

static void add_list(writer *w, yyjson_val *list, unsigned level) {
  size_t i;
  size_t count;
  yyjson_val *value;
  yyjson_arr_foreach(list, i, count, value) {
    add_line(w, level);
    add(w, "- ");
    add_value(w, value, level + 1);
  }
}

static void add_map(writer *w, yyjson_val *map, unsigned level) {
  size_t i;
  size_t count;
  yyjson_val *key;
  yyjson_val *value;
  yyjson_obj_foreach(map, i, count, key, value) {
    add_line(w, level);
    add(w, "? ");
    add_string(w, yyjson_get_str(key), yyjson_get_len(key));
    add_line(w, level);
    add(w, ": ");
    add_value(w, value, level + 1);
  }
}

static void add_scalar(writer *w, yyjson_val *value) {
  static const char *const nulls[] = {"null", "~", "Null", ""};
  static const char *const truths[] = {"true", "yes", "On", "TRUE"};
  static const char *const lies[] = {"false", "no", "Off", "FALSE"};
  if (yyjson_is_raw(value)) {
    add(w, yyjson_get_raw(value));
  } else if (yyjson_is_bool(value)) {
    add(w, yyjson_get_bool(value) ? truths[choose(w, 4)] : lies[choose(w, 4)]);
  } else {
    add(w, nulls[choose(w, 4)]);
  }
}

static void add_value(writer *w, yyjson_val *value, unsigned level) {
  if (yyjson_is_str(value)) {
    add_string(w, yyjson_get_str(value), yyjson_get_len(value));
  } else if (yyjson_arr_size(value) > 0) {
    add_list(w, value, level);
  } else if (yyjson_obj_size(value) > 0) {
    add_map(w, value, level);
  } else if (yyjson_is_ctn(value)) {
    add(w, yyjson_is_arr(value) ? "[]" : "{}");
  } else {
    add_scalar(w, value);
  }
}

static size_t depth_of(yyjson_val *value) {
  size_t deepest = 0;
  size_t i;
  size_t count;
  yyjson_val *key;
  yyjson_val *child;
  yyjson_arr_foreach(value, i, count, child) {
    size_t depth = depth_of(child);
    deepest = depth > deepest ? depth : deepest;
  }
  yyjson_obj_foreach(value, i, count, key, child) {
    size_t depth = depth_of(child);
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest + yyjson_is_ctn(value);
}

/* --- Targets -------------------------------------------------------------- */

static bool equal(const outcome *a, const outcome *b) {
  return a->err == b->err && a->problems == b->problems &&
         kin__str_equal(kin__str(a->text.data, a->text.length),
                        kin__str(b->text.data, b->text.length));
}

/* Line ends that JSON may have in a string, and YAML folds. */
static bool has_line_end(kin_str text) {
  for (size_t i = 0; i + 1 < text.length; i++) {
    const unsigned char *c = (const unsigned char *)text.data + i;
    if ((c[0] == 0xc2 && c[1] == 0x85) || (c[0] == 0xe2 && c[1] == 0x80)) {
      return true;
    }
  }
  return false;
}

/* Not all JSON is YAML as libyaml reads it: keys have at most 1,024 bytes, and
 * there are no surrogates. The writer uses neither, so its text must not be
 * refused as YAML, unless the other one is. */
static void check_two_forms(kin_str text, uint32_t choices) {
  char *copy = malloc(text.length + 1);
  FUZZ_CHECK(copy != NULL);
  if (text.length > 0) {
    memcpy(copy, text.data, text.length);
  }
  yyjson_doc *doc = yyjson_read(copy, text.length, YYJSON_READ_NUMBER_AS_RAW);
  free(copy);
  if (doc == NULL || text.length > 20000 || has_line_end(text) ||
      depth_of(yyjson_doc_get_root(doc)) > KIN__YAML_MAX_DEPTH) {
    yyjson_doc_free(doc);
    return;
  }
  writer w = {.choices = choices};
  kin__buf_init(&w.out, kin__default_allocator(), 1u << 26);
  add(&w, choose(&w, 2) == 0 ? "---\n" : "# a file\n");
  add_value(&w, yyjson_doc_get_root(doc), 0);
  add(&w, "\n");
  yyjson_doc_free(doc);
  surroundings s = {.files = {text, KIN__LIT("")}};
  outcome json = load(&s, 0);
  s.files[0] = kin__str(w.out.data, w.out.length);
  outcome yaml = load(&s, 0);
  FUZZ_CHECK(json.is_no_yaml || equal(&json, &yaml));
  kin__buf_finish(&json.text);
  kin__buf_finish(&yaml.text);
  kin__buf_finish(&w.out);
}

static void check_two_files(kin_str text, uint8_t where, uint8_t fail_at,
                            bool is_pod) {
  size_t cut = text.length * where / 256;
  surroundings s = {.files = {kin__str(text.data, cut),
                              kin__str(text.data + cut, text.length - cut)},
                    .is_pod = is_pod};
  outcome whole = load(&s, 0);
  outcome failing = load(&s, fail_at);
  FUZZ_CHECK(failing.err == KIN_ENOMEM || equal(&whole, &failing));
  kin__buf_finish(&whole.text);
  kin__buf_finish(&failing.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  uint8_t options = fuzz_byte(&in);
  uint8_t where = fuzz_byte(&in);
  uint8_t fail_at = fuzz_byte(&in);
  uint8_t choices = fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  if (text.length == 0) {
    return 0;
  }
  check_two_files(text, where, fail_at, (options & 1) != 0);
  check_two_forms(text, choices);
  return 0;
}
