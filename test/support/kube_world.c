/* SPDX-License-Identifier: MIT */
#include "support/kube_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/tls_certs.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/* --- The surroundings ----------------------------------------------------- */

static const char *get_variable(void *ctx, const char *name) {
  kube_world *w = ctx;
  for (size_t i = 0; i < w->variable_count; i++) {
    if (strcmp(w->variables[i].name, name) == 0) {
      return w->variables[i].value;
    }
  }
  return NULL;
}

/* Errors: KIN_ENOENT, -EACCES. */
static int find_text(kube_world *w, const char *path, const char **text) {
  for (size_t i = 0; i < w->file_count; i++) {
    if (strcmp(w->files[i].path, path) == 0) {
      *text = w->files[i].text;
      return *text != NULL ? 0 : -EACCES;
    }
  }
  return KIN_ENOENT;
}

static int read_content(void *ctx, kin__vault *vault, const char *path,
                        size_t max_bytes, kin_str *text) {
  kube_world *w = ctx;
  const char *content;
  int err = find_text(w, path, &content);
  if (err != 0) {
    return err;
  }
  w->read_count++;
  if (strlen(content) > max_bytes) {
    return KIN_ETOOBIG;
  }
  const char *copy = kin__vault_copy(vault, kin__cstr(content));
  *text = kin__cstr(copy);
  return copy != NULL ? 0 : KIN_ENOMEM;
}

static int probe_content(void *ctx, const char *path) {
  kube_world *w = ctx;
  const char *content;
  w->probed = path;
  return find_text(w, path, &content);
}

static void on_log(kin_log_level level, const char *line, void *data) {
  kube_world *w = data;
  size_t used = strlen(w->lines);
  snprintf(w->lines + used, sizeof w->lines - used, "%d %s\n", (int)level,
           line);
}

void kube_world_init(kube_world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  fail_alloc_init(&w->memory, fail_at);
  w->log = (kin__log){.cb = on_log, .data = w, .level = KIN_LOG_DEBUG};
  w->env = (kin__config_env){.getenv = get_variable,
                             .read = read_content,
                             .probe = probe_content,
                             .explain = kin_strerror,
                             .ctx = w,
                             .log = &w->log};
  kin__resolved_config_init(&w->config, &w->memory.allocator);
}

void kube_world_finish(kube_world *w) {
  kin__resolved_config_finish(&w->config);
  assert_int_equal(w->memory.live_blocks, 0);
}

void kube_world_file(kube_world *w, const char *path, const char *text) {
  for (size_t i = 0; i < w->file_count; i++) {
    if (strcmp(w->files[i].path, path) == 0) {
      w->files[i].text = text;
      return;
    }
  }
  assert_true(w->file_count < sizeof w->files / sizeof *w->files);
  w->files[w->file_count].path = path;
  w->files[w->file_count++].text = text;
}

void kube_world_set(kube_world *w, const char *name, const char *value) {
  assert_true(w->variable_count < sizeof w->variables / sizeof *w->variables);
  w->variables[w->variable_count].name = name;
  w->variables[w->variable_count++].value = value;
}

void kube_world_pod(kube_world *w) {
  kube_world_set(w, "KUBERNETES_SERVICE_HOST", "10.0.0.1");
  kube_world_set(w, "KUBERNETES_SERVICE_PORT", "443");
  kube_world_file(w, ACCOUNT "token", "pod-token");
  kube_world_file(w, ACCOUNT "ca.crt", tls_pki_get()->authority_pem);
}

/* --- Loading -------------------------------------------------------------- */

int kube_world_load(kube_world *w, const char *path) {
  kin__resolved_config_finish(&w->config);
  if (w->has_small_blocks) {
    w->config.vault.block_bytes = 0; /* each piece is an allocation */
  }
  kin__problems_init(&w->problems);
  w->lines[0] = '\0';
  w->options.path = path;
  int err = kin__kube_load(&w->config, &w->options, &w->env, &w->problems);
  /* Every error has a text, and only an error has one. */
  if (err == 0 || err == KIN_ENOMEM) {
    assert_true(err == KIN_ENOMEM || w->problems.count == 0);
  } else {
    assert_true(err == KIN_EINVAL || err == KIN_ENOENT);
    assert_true(w->problems.count > 0 && w->problems.text[0] != '\0');
  }
  return err;
}

int kube_world_load_text(kube_world *w, const char *text) {
  kube_world_file(w, "/k/config", text);
  return kube_world_load(w, "/k/config");
}

static void put(kube_world *w, const char *name, const char *value) {
  if (value != NULL) {
    size_t used = strlen(w->text);
    assert_true(used + strlen(name) + strlen(value) + 4 < sizeof w->text);
    snprintf(w->text + used, sizeof w->text - used, "%s%s=%s",
             used > 0 ? " " : "", name, value);
  }
}

static void put_list(kube_world *w, const char *name, const char *const *values,
                     size_t count) {
  for (size_t i = 0; i < count; i++) {
    put(w, name, values[i]);
  }
}

static void put_exec(kube_world *w, const kin__resolved_exec *exec) {
  put(w, "exec", exec->command);
  put(w, "version", exec->api_version);
  put_list(w, "arg", exec->args, exec->arg_count);
  for (size_t i = 0; i < exec->env_count; i++) {
    put(w, exec->env[i].name, exec->env[i].value);
  }
  put(w, "hint", exec->install_hint);
  put(w, "mode", exec->interactive_mode);
  put(w, "info", exec->provide_cluster_info ? "true" : NULL);
  put(w, "config", exec->config);
}

static const char *or_null(const char *text, const char *usual) {
  return strcmp(text, usual) == 0 ? NULL : text;
}

const char *kube_world_text(kube_world *w) {
  const kin__resolved_config *c = &w->config;
  w->text[0] = '\0';
  put(w, "server", c->server);
  put(w, "tls-server-name", c->tls_server_name);
  put(w, "ca", c->certificate_authority_file);
  put(w, "ca-data", c->certificate_authority_data);
  put(w, "insecure", c->insecure_skip_tls_verify ? "true" : NULL);
  put(w, "proxy", c->proxy_url);
  put(w, "disable-compression", c->disable_compression ? "true" : NULL);
  put(w, "cert", c->client_certificate_file);
  put(w, "cert-data", c->client_certificate_data);
  put(w, "key", c->client_key_file);
  put(w, "key-data", c->client_key_data);
  put(w, "token", c->token);
  put(w, "token-file", c->token_file);
  put(w, "username", c->username);
  put(w, "password", c->password);
  if (c->exec != NULL) {
    put_exec(w, c->exec);
  }
  put(w, "as", c->impersonate_user);
  put(w, "as-uid", c->impersonate_uid);
  put_list(w, "as-group", c->impersonate_groups, c->impersonate_group_count);
  for (size_t i = 0; i < c->impersonate_extra_count; i++) {
    put(w, c->impersonate_extra[i].key, c->impersonate_extra[i].value);
  }
  put(w, "namespace", c->has_namespace ? c->namespace_ : NULL);
  assert_true(c->has_namespace || strcmp(c->namespace_, "default") == 0);
  put(w, "context", or_null(c->context, ""));
  put(w, "cluster", or_null(c->cluster, ""));
  put(w, "user", or_null(c->user, ""));
  put(w, "in-cluster", c->is_in_cluster ? "true" : NULL);
  return w->text;
}

void kube_world_assert_ok(kube_world *w, int err) {
  if (err != 0) {
    fail_msg("%s: %s", kin_err_name(err), w->problems.text);
  }
}

void kube_world_expect(kube_world *w, const char *text, const char *resolved) {
  kube_world_assert_ok(w, kube_world_load_text(w, text));
  assert_string_equal(kube_world_text(w), resolved);
}

void kube_world_expect_problem(kube_world *w, const char *text,
                               const char *problems) {
  assert_int_equal(kube_world_load_text(w, text), KIN_EINVAL);
  assert_string_equal(w->problems.text, problems);
}
