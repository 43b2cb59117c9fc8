/* SPDX-License-Identifier: MIT */
#include "transport/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <uv.h>

#include <kin/error.h>

/* libuv's file functions run at once without a callback, and do not use the
 * loop then. */
#define NO_LOOP NULL

/* uv_fs_t has one: libuv writes as many bits as its own build has. */
_Static_assert(sizeof(off_t) == 8, "define _FILE_OFFSET_BITS=64");

static void take_id(kin__file_id *id, const uv_stat_t *stat) {
  *id = (kin__file_id){.device = stat->st_dev,
                       .inode = stat->st_ino,
                       .size = stat->st_size,
                       .modified_s = stat->st_mtim.tv_sec,
                       .modified_ns = stat->st_mtim.tv_nsec,
                       .changed_s = stat->st_ctim.tv_sec,
                       .changed_ns = stat->st_ctim.tv_nsec};
}

bool kin__file_id_equal(const kin__file_id *a, const kin__file_id *b) {
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         a->modified_s == b->modified_s && a->modified_ns == b->modified_ns &&
         a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

int kin__file_stat(const char *path, kin__file_id *id) {
  *id = (kin__file_id){.size = 0};
  uv_fs_t request;
  int err = uv_fs_stat(NO_LOOP, &request, path, NULL);
  if (err == 0) {
    take_id(id, &request.statbuf);
  }
  uv_fs_req_cleanup(&request);
  return err;
}

static int check_regular(uv_file file, kin__file_id *id) {
  uv_fs_t request;
  int err = uv_fs_fstat(NO_LOOP, &request, file, NULL);
  if (err == 0) {
    take_id(id, &request.statbuf);
    err = S_ISREG(request.statbuf.st_mode) ? 0 : UV_EINVAL;
  }
  uv_fs_req_cleanup(&request);
  return err;
}

/* Returns the number of bytes, 0 at the end. */
static int read_some(uv_file file, char *bytes, size_t size) {
  uv_fs_t request;
  uv_buf_t buf = uv_buf_init(bytes, (unsigned)size);
  int count = uv_fs_read(NO_LOOP, &request, file, &buf, 1, -1, NULL);
  uv_fs_req_cleanup(&request);
  return count;
}

static int read_all(uv_file file, char *bytes, size_t size, size_t *length) {
  size_t used = 0;
  for (;;) {
    char beyond; /* read to see whether the file is too large */
    bool is_full = used == size;
    int count = is_full ? read_some(file, &beyond, 1)
                        : read_some(file, bytes + used, size - used);
    if (count < 0) {
      return count;
    }
    if (count == 0) {
      *length = used;
      return 0;
    }
    if (is_full) {
      return KIN_ETOOBIG;
    }
    used += (size_t)count;
  }
}

int kin__file_read(const char *path, char *bytes, size_t size, size_t *length,
                   kin__file_id *id) {
  *length = 0;
  kin__file_id unused;
  uv_fs_t request;
  /* O_NONBLOCK: opening a pipe without a writer would block. */
  int file = uv_fs_open(NO_LOOP, &request, path,
                        UV_FS_O_RDONLY | UV_FS_O_NONBLOCK, 0, NULL);
  uv_fs_req_cleanup(&request);
  if (file < 0) {
    return file;
  }
  int err = check_regular(file, id != NULL ? id : &unused);
  if (err == 0) {
    err = read_all(file, bytes, size, length);
  }
  (void)uv_fs_close(NO_LOOP, &request, file, NULL);
  uv_fs_req_cleanup(&request);
  return err;
}

const char *kin__file_strerror(int code) {
  switch (code) {
  case UV_EINVAL:
    return "not a regular file";
  case KIN_ETOOBIG:
    return "too large";
  default:
    return kin_strerror(code);
  }
}
