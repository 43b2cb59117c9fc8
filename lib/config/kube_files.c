/* SPDX-License-Identifier: MIT */
#include "config/kube_files.h"

#include <uv.h>

#include <kin/error.h>

#include "base/str.h"
#include "transport/environment.h"
#include "transport/file.h"

static const char *get_variable(void *ctx, const char *name) {
  (void)ctx;
  return kin__environment_get(name);
}

static int code_of(int err) {
  return err == UV_ENOENT ? KIN_ENOENT : err == UV_ENOMEM ? KIN_ENOMEM : err;
}

static int read_content(void *ctx, kin__vault *vault, const char *path,
                        size_t max_bytes, kin_str *text) {
  (void)ctx;
  kin__file_id id;
  int err = kin__file_stat(path, &id);
  if (err != 0) {
    return code_of(err);
  }
  if (id.size > max_bytes) {
    return KIN_ETOOBIG;
  }
  size_t room = id.size < 4096 ? 4096 : (size_t)id.size;
  room = room < max_bytes ? room : max_bytes;
  for (;;) {
    char *bytes = kin__vault_alloc(vault, room, 1);
    if (bytes == NULL) {
      return KIN_ENOMEM;
    }
    size_t length;
    err = kin__file_read(path, bytes, room, &length, NULL);
    *text = kin__str(bytes, length);
    if (err != KIN_ETOOBIG || room == max_bytes) {
      return code_of(err);
    }
    /* The file has grown since, or it is the kernel's and has no size. */
    room = max_bytes;
  }
}

/* One byte shows that the content can be read. */
static int probe_content(void *ctx, const char *path) {
  (void)ctx;
  char byte;
  size_t length;
  int err = kin__file_read(path, &byte, 1, &length, NULL);
  return err == KIN_ETOOBIG ? 0 : code_of(err);
}

const char *kin__config_folder(char to[KIN__FOLDER_SIZE]) {
  size_t size = KIN__FOLDER_SIZE;
  return uv_cwd(to, &size) == 0 ? to : NULL;
}

kin__config_env kin__config_env_of_process(const kin__log *log) {
  return (kin__config_env){.getenv = get_variable,
                           .read = read_content,
                           .probe = probe_content,
                           .explain = kin__file_strerror,
                           .log = log};
}
