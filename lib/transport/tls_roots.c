/* SPDX-License-Identifier: MIT */
#include "transport/tls_roots.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <openssl/x509.h>

/* The lists are those of Go's crypto/x509 (root_linux.go, root_bsd.go), after
 * OpenSSL's own. Each path ends with a NUL, the last one with two. */
static const char known_files[] =
    "/etc/ssl/certs/ca-certificates.crt\0"                /* Debian, Gentoo */
    "/etc/pki/tls/certs/ca-bundle.crt\0"                  /* Fedora */
    "/etc/ssl/ca-bundle.pem\0"                            /* openSUSE */
    "/etc/pki/tls/cacert.pem\0"                           /* OpenELEC */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem\0" /* RHEL */
    "/etc/ssl/cert.pem\0"                       /* Alpine, OpenBSD, macOS */
    "/usr/local/etc/ssl/cert.pem\0"             /* FreeBSD */
    "/usr/local/share/certs/ca-root-nss.crt\0"  /* DragonFly */
    "/etc/openssl/certs/ca-certificates.crt\0"; /* NetBSD */

static const char known_directories[] = "/etc/ssl/certs:" /* SLES, FreeBSD */
                                        "/etc/pki/tls/certs:"     /* Fedora */
                                        "/usr/local/share/certs:" /* FreeBSD */
                                        "/etc/openssl/certs";     /* NetBSD */

const char *kin__tls_roots_bundle(kin__file_id *id) {
  const char *path = X509_get_default_cert_file();
  if (kin__file_stat(path, id) == 0) {
    return path;
  }
  for (path = known_files; path[0] != '\0'; path += strlen(path) + 1) {
    if (kin__file_stat(path, id) == 0) {
      return path;
    }
  }
  return NULL;
}

#define PATH_SIZE 4096u

typedef struct roots_visit {
  kin__file_id *id;
  char *scratch; /* NULL: only the ids are wanted */
  size_t size;
  kin__tls_roots_take take;
  void *ctx;
  size_t bytes; /* read so far */
} roots_visit;

/* The order counts, so that a directory that is named twice does not take
 * itself away. */
static int64_t add_time(int64_t sum, int64_t time) {
  return (int64_t)((uint64_t)sum * 31 + (uint64_t)time);
}

static void add_id(kin__file_id *sum, const kin__file_id *id) {
  sum->device = sum->device * 31 + id->device;
  sum->inode = sum->inode * 31 + id->inode;
  sum->size = sum->size * 31 + id->size;
  sum->modified_s = add_time(sum->modified_s, id->modified_s);
  sum->modified_ns = add_time(sum->modified_ns, id->modified_ns);
  sum->changed_s = add_time(sum->changed_s, id->changed_s);
  sum->changed_ns = add_time(sum->changed_ns, id->changed_ns);
}

/* Whether a link leads to a file of its own directory. */
static bool is_link_beside(const char *path, const uv_dirent_t *entry) {
  if (entry->type != UV_DIRENT_LINK) {
    return false;
  }
  uv_fs_t request;
  bool is_beside = uv_fs_readlink(NULL, &request, path, NULL) == 0 &&
                   strchr(request.ptr, '/') == NULL;
  uv_fs_req_cleanup(&request);
  return is_beside;
}

static bool visit_file(roots_visit *visit, const char *path) {
  size_t length;
  if (kin__file_read(path, visit->scratch, visit->size, &length, NULL) != 0 ||
      length > KIN__TLS_ROOTS_MAX_BYTES - visit->bytes) {
    return true;
  }
  visit->bytes += length;
  return visit->take(visit->ctx, visit->scratch, length);
}

static bool visit_files(roots_visit *visit, const char *directory) {
  uv_fs_t request;
  uv_dirent_t entry;
  bool goes_on = true;
  if (uv_fs_scandir(NULL, &request, directory, 0, NULL) >= 0) {
    for (size_t i = 0; goes_on && i < KIN__TLS_ROOTS_MAX_FILES &&
                       uv_fs_scandir_next(&request, &entry) == 0;
         i++) {
      char path[PATH_SIZE];
      int length = snprintf(path, sizeof path, "%s/%s", directory, entry.name);
      if (length > 0 && (size_t)length < sizeof path &&
          !is_link_beside(path, &entry)) {
        goes_on = visit_file(visit, path);
      }
    }
    /* To the end: libuv frees the last entry there only. */
    while (uv_fs_scandir_next(&request, &entry) == 0) {
    }
  }
  uv_fs_req_cleanup(&request);
  return goes_on;
}

static bool visit_directory(roots_visit *visit, const char *path) {
  kin__file_id id;
  (void)kin__file_stat(path, &id);
  add_id(visit->id, &id);
  return visit->scratch == NULL || visit_files(visit, path);
}

static bool visit_all(roots_visit *visit, const char *directories) {
  bool goes_on = true;
  if (directories == NULL) {
    goes_on = visit_directory(visit, X509_get_default_cert_dir());
    directories = known_directories;
  }
  while (goes_on && directories[0] != '\0') {
    char path[PATH_SIZE];
    size_t length = strcspn(directories, ":");
    if (length > 0 && length < sizeof path) {
      memcpy(path, directories, length);
      path[length] = '\0';
      goes_on = visit_directory(visit, path);
    }
    directories += length + (directories[length] == ':');
  }
  return goes_on;
}

void kin__tls_roots_add_ids(const char *directories, kin__file_id *id) {
  roots_visit visit = {.id = id};
  (void)visit_all(&visit, directories);
}

bool kin__tls_roots_read(const char *directories, kin__file_id *id,
                         char *scratch, size_t size, kin__tls_roots_take take,
                         void *ctx) {
  roots_visit visit = {
      .id = id, .scratch = scratch, .size = size, .take = take, .ctx = ctx};
  return visit_all(&visit, directories);
}
