/* SPDX-License-Identifier: MIT */
#include "connect/kube_finder.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "config/exec_terms.h"
#include "config/kube_files.h"
#include "config/kube_load.h"
#include "config/kubeconfig.h"
#include "transport/environment.h"
#include "transport/handle.h"

#define FRESH_MS 60000u
#define RETRY_MS 1000u
#define WARNING_BYTES 512u

static const char *const variable_names[] = {
    "KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
    "POD_NAMESPACE"};
#define VARIABLES (sizeof variable_names / sizeof *variable_names)

typedef struct kube_finder {
  kin__server_place place;
  kin__vault kept; /* what the options and the environment said */
  kin_kubeconfig_options which;
  const char *variables[VARIABLES];
  const char *folder; /* the working directory then; NULL: not known */

  kin__late *late; /* that searches */
  bool has_current;
  kin__resolved_config current;

  uv_work_t work;
  bool is_working; /* only the worker may use these: */
  bool is_pod_only;
  kin__resolved_config next;
  kin__problems problems;
  char warning[WARNING_BYTES]; /* the last one; "": none */
  int err;
  char told[WARNING_BYTES]; /* the warning that the log has */

  kin__tick again; /* a search whose answer is known */
  kin__tick gone;
  bool is_closing;
  void (*close_cb)(void *ctx);
  void *close_ctx;
} kube_finder;

/* --- The worker ----------------------------------------------------------- */

static const char *get_kept_variable(void *ctx, const char *name) {
  const kube_finder *finder = ctx;
  for (size_t i = 0; i < VARIABLES; i++) {
    if (strcmp(variable_names[i], name) == 0) {
      return finder->variables[i];
    }
  }
  return NULL;
}

static void keep_warning(kin_log_level level, const char *line, void *data) {
  (void)level;
  kube_finder *finder = data;
  size_t length = strlen(line);
  length = length < WARNING_BYTES - 1 ? length : WARNING_BYTES - 1;
  memcpy(finder->warning, line, length);
  finder->warning[length] = '\0';
}

/* The context of the first server that was opened is that of all later ones.
 * `current` does not change while the worker runs. */
static void load_in_pool(uv_work_t *work) {
  kube_finder *finder = KIN__CONTAINER_OF(work, kube_finder, work);
  const kin__log log = {
      .cb = keep_warning, .data = finder, .level = KIN_LOG_WARN};
  kin__config_env env = kin__config_env_of_process(&log);
  env.getenv = get_kept_variable;
  env.folder = finder->folder;
  env.is_pod_only = finder->is_pod_only;
  env.needs_cluster = finder->current.has_cluster;
  env.needs_identity = finder->current.identity;
  env.ctx = finder;
  kin_kubeconfig_options which = finder->which;
  which.context = kin__or_default(which.context, finder->current.context);
  finder->err = kin__kube_load(&finder->next, &which, &env, &finder->problems);
}

/* --- The answer ----------------------------------------------------------- */

static void tell_found(kube_finder *finder) {
  kin_client_options options = *kin__late_options(finder->late);
  kin__resolved_config_apply(&finder->next, &options);
  bool is_moved = finder->has_current && !kin__resolved_config_has_same_address(
                                             &finder->current, &finder->next);
  kin__late_found(finder->late, &options, is_moved);
}

/* Settings that could not be used are looked for again: there may be memory
 * then, or the reason is told once more. */
static void on_opened(void *ctx, bool is_in_use) {
  kube_finder *finder = ctx;
  kin__resolved_config_finish(is_in_use ? &finder->current : &finder->next);
  if (is_in_use) {
    finder->current = finder->next;
    finder->has_current = true;
  }
}

static void tell_failed(kube_finder *finder) {
  kin__resolved_config_finish(&finder->next);
  if (finder->err == KIN_ENOMEM) {
    kin__late_failed(finder->late, KIN_ENOMEM, KIN_CLASS_MEMORY,
                     kin_strerror(KIN_ENOMEM));
    return;
  }
  /* KIN_ENOENT would be a server's "not found": see kin_response.code. */
  int code = finder->err == KIN_ENOENT ? KIN_EINVAL : finder->err;
  kin__late_failed(finder->late, code, KIN_CLASS_AUTH, finder->problems.text);
}

static void free_finder(kube_finder *finder) {
  const kin_allocator *allocator = finder->place.allocator;
  kin__resolved_config_finish(&finder->current);
  kin__vault_finish(&finder->kept);
  kin__free(allocator, finder);
}

static void end_finder(kube_finder *finder) {
  void (*cb)(void *ctx) = finder->close_cb;
  void *ctx = finder->close_ctx;
  free_finder(finder);
  cb(ctx);
}

/* A request may begin a search, and each search finds the same words. */
static void log_new_warning(kube_finder *finder) {
  if (strcmp(finder->warning, finder->told) == 0) {
    return;
  }
  memcpy(finder->told, finder->warning, WARNING_BYTES);
  if (finder->told[0] != '\0') {
    kin__log_write(finder->place.log, KIN_LOG_WARN, "%s", finder->told);
  }
}

/* Each branch ends with a call that may close the client. */
static void on_loaded(uv_work_t *work, int status) {
  (void)status;
  kube_finder *finder = KIN__CONTAINER_OF(work, kube_finder, work);
  finder->is_working = false;
  if (finder->is_closing) {
    kin__resolved_config_finish(&finder->next);
    end_finder(finder);
    return;
  }
  log_new_warning(finder);
  if (finder->err != 0) {
    tell_failed(finder);
  } else if (finder->has_current &&
             kin__resolved_config_is_same(&finder->current, &finder->next)) {
    kin__resolved_config_finish(&finder->next);
    kin__late_same(finder->late);
  } else {
    tell_found(finder);
  }
}

static void on_again(kin__tick *tick) {
  kube_finder *finder = KIN__CONTAINER_OF(tick, kube_finder, again);
  if (finder->is_closing) {
    end_finder(finder);
  } else {
    kin__late_same(finder->late);
  }
}

/* --- The finder ----------------------------------------------------------- */

static void search_kubeconfig(void *ctx, kin__late *late) {
  kube_finder *finder = ctx;
  finder->late = late;
  kin__problems_init(&finder->problems);
  kin__resolved_config_init(&finder->next, kin__default_allocator());
  finder->warning[0] = '\0';
  bool is_pod = finder->has_current && finder->current.is_in_cluster;
  bool is_fixed = is_pod && finder->current.certificate_authority_file != NULL;
  finder->is_pod_only = is_pod;
  if (is_fixed || uv_queue_work(finder->place.loop->uv, &finder->work,
                                load_in_pool, on_loaded) != 0) {
    kin__tick_request(&finder->again, finder->place.loop->uv);
    return;
  }
  finder->is_working = true;
}

static void on_finder_gone(kin__tick *tick) {
  end_finder(KIN__CONTAINER_OF(tick, kube_finder, gone));
}

static void close_kube_finder(void *ctx, void (*cb)(void *cb_ctx),
                              void *cb_ctx) {
  kube_finder *finder = ctx;
  finder->is_closing = true;
  finder->close_cb = cb;
  finder->close_ctx = cb_ctx;
  if (finder->is_working) {
    /* Fails if the reading is running; the callback comes in both cases. */
    (void)uv_cancel((uv_req_t *)&finder->work);
  } else if (!finder->again.is_pending) {
    kin__tick_request(&finder->gone, finder->place.loop->uv);
  }
}

/* Errors: KIN_ENOMEM. */
static int keep_options(kube_finder *finder,
                        const kin_kubeconfig_options *which) {
  kin_kubeconfig_options *own = &finder->which;
  *own = *which;
  const char **const texts[] = {&own->path,
                                &own->context,
                                &own->cluster,
                                &own->user,
                                &own->namespace_,
                                &own->server,
                                &own->tls_server_name,
                                &own->certificate_authority_file,
                                &own->proxy_url,
                                &own->token,
                                &own->token_file,
                                &own->client_certificate_file,
                                &own->client_key_file,
                                &own->username,
                                &own->password,
                                &own->impersonate_user,
                                &own->impersonate_uid};
  int err = 0;
  for (size_t i = 0; i < sizeof texts / sizeof *texts && err == 0; i++) {
    err = kin__vault_take(&finder->kept, texts[i], *texts[i]);
  }
  for (size_t i = 0; i < VARIABLES && err == 0; i++) {
    err = kin__vault_take(&finder->kept, &finder->variables[i],
                          kin__environment_get(variable_names[i]));
  }
  if (err == 0) {
    char folder[KIN__FOLDER_SIZE];
    err = kin__vault_take(&finder->kept, &finder->folder,
                          kin__config_folder(folder));
  }
  if (err == 0) {
    err = kin__exec_terms_take(&finder->kept, &own->exec, own->exec);
  }
  if (err == 0 && own->context != NULL && own->context[0] == '\0') {
    own->context = NULL;
  }
  return err == 0 ? kin__vault_take_all(&finder->kept, &own->impersonate_groups,
                                        own->impersonate_groups,
                                        own->impersonate_group_count)
                  : err;
}

int kin__kube_finder_open(kin__finder *out, const kin__server_place *place,
                          const kin_kubeconfig_options *which) {
  int err = kin__kubeconfig_options_check(which, place->log);
  if (err != 0) {
    return err;
  }
  kube_finder *finder = kin__calloc(place->allocator, 1, sizeof *finder);
  if (finder == NULL) {
    return KIN_ENOMEM;
  }
  finder->place = *place;
  kin__vault_init(&finder->kept, place->allocator);
  kin__resolved_config_init(&finder->current, kin__default_allocator());
  kin__tick_init(&finder->again, on_again);
  kin__tick_init(&finder->gone, on_finder_gone);
  err = keep_options(finder, which);
  if (err != 0) {
    free_finder(finder);
    return err;
  }
  *out = (kin__finder){.search = search_kubeconfig,
                       .close = close_kube_finder,
                       .opened = on_opened,
                       .ctx = finder,
                       .fresh_ms = FRESH_MS,
                       .retry_ms = RETRY_MS};
  return 0;
}

void kin__kube_finder_free(const kin__finder *finder) {
  free_finder(finder->ctx);
}
