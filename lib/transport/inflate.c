/* SPDX-License-Identifier: MIT */
/* zlib inflates and checks header, sum and length. This file keeps the input
 * that a step leaves. It also joins the members that a gzip stream may have
 * (RFC 1952, 2.2): after the last byte of a member another one begins or the
 * stream ends. */
#include "transport/inflate.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"

/* The caller stops reading while there is work, so the input is the bytes of
 * one recv. */
#define MAX_INPUT_BYTES (1u << 20)
/* Kept while a slow stream is silent. */
#define KEEP_BYTES (4u << 10)
#define GZIP_ONLY 16 /* of windowBits: no zlib header, no raw stream */

struct kin__inflate {
  const kin_allocator *allocator;
  z_stream z;
  kin__buf in;
  size_t in_at;       /* the next byte of `in` to inflate */
  bool is_full;       /* the last slice was full: zlib may hold more output */
  bool is_between;    /* between two members: the stream may end */
  bool has_member;    /* a whole member was read */
  const char *reason; /* static; NULL without an error */
  char out[KIN__INFLATE_BYTES];
};

static voidpf allocate(voidpf opaque, uInt count, uInt size) {
  return kin__realloc_array(opaque, NULL, 0, count, size);
}

static void release(voidpf opaque, voidpf address) {
  kin__free(opaque, address);
}

bool kin__inflate_is_supported(void) {
  return true;
}

/* zlib promises that releases with the same first number fit. */
kin__library kin__inflate_library(void) {
  const char *found = zlibVersion();
  kin__library library = {.name = "zlib",
                          .built_for = ZLIB_VERSION,
                          .fits = found[0] == ZLIB_VERSION[0]};
  snprintf(library.found, sizeof library.found, "%s", found);
  return library;
}

int kin__inflate_new(kin__inflate **out, const kin_allocator *allocator) {
  *out = NULL;
  kin__inflate *self = kin__calloc(allocator, 1, sizeof *self);
  if (self == NULL) {
    return KIN_ENOMEM;
  }
  self->allocator = allocator;
  self->z.zalloc = allocate;
  self->z.zfree = release;
  self->z.opaque = (voidpf)(uintptr_t)allocator; /* zlib does not write to it */
  self->is_between = true;
  int result = inflateInit2(&self->z, MAX_WBITS + GZIP_ONLY);
  if (result != Z_OK) {
    kin__free(allocator, self);
    return result == Z_MEM_ERROR ? KIN_ENOMEM : KIN_ENOTSUP;
  }
  kin__buf_init(&self->in, allocator, MAX_INPUT_BYTES);
  *out = self;
  return 0;
}

void kin__inflate_free(kin__inflate *self) {
  if (self != NULL) {
    (void)inflateEnd(&self->z);
    kin__buf_finish(&self->in);
    kin__free(self->allocator, self);
  }
}

int kin__inflate_push(kin__inflate *self, const char *bytes, size_t length) {
  kin__buf_consume(&self->in, self->in_at);
  self->in_at = 0;
  return kin__buf_append(&self->in, bytes, length);
}

bool kin__inflate_has_work(const kin__inflate *self) {
  return self->in_at < self->in.length || self->is_full;
}

static int fail(kin__inflate *self, int result) {
  static const char no_header[] = "incorrect header check";
  if (result == Z_MEM_ERROR) {
    return KIN_ENOMEM;
  }
  const char *reason = self->z.msg;
  if (reason == NULL) {
    reason = "damaged";
  } else if (strcmp(reason, no_header) == 0) {
    reason =
        self->has_member ? "bytes follow that are none" : "the body is none";
  }
  self->reason = reason;
  return KIN_EHTTP;
}

/* Begins a member; there is input for it. */
static int begin_member(kin__inflate *self) {
  self->is_between = false;
  return self->has_member ? inflateReset(&self->z) : Z_OK;
}

/* Removes the used input. */
static void drop_input(kin__inflate *self, size_t count) {
  self->in_at += count;
  if (self->in_at == self->in.length) {
    kin__buf_reset(&self->in, KEEP_BYTES);
    self->in_at = 0;
  }
}

int kin__inflate_step(kin__inflate *self, kin_str *out) {
  z_stream *z = &self->z;
  *out = kin__str(self->out, 0);
  size_t left = self->in.length - self->in_at;
  if (self->is_between) {
    if (left == 0) {
      return 0;
    }
    int result = begin_member(self);
    if (result != Z_OK) {
      return fail(self, result);
    }
  }
  size_t length =
      left < KIN__INFLATE_INPUT_BYTES ? left : KIN__INFLATE_INPUT_BYTES;
  /* zlib does not write through this pointer. */
  z->next_in = (Bytef *)(left > 0 ? self->in.data + self->in_at : NULL);
  z->avail_in = (uInt)length;
  z->next_out = (Bytef *)self->out;
  z->avail_out = (uInt)sizeof self->out;
  int result = inflate(z, Z_SYNC_FLUSH);
  out->length = sizeof self->out - z->avail_out;
  self->is_full = result == Z_OK && z->avail_out == 0;
  drop_input(self, length - z->avail_in);
  if (result == Z_STREAM_END) {
    self->is_between = self->has_member = true;
    return 0;
  }
  return result == Z_OK || result == Z_BUF_ERROR ? 0 : fail(self, result);
}

int kin__inflate_end(kin__inflate *self) {
  if (self->is_between) {
    return 0;
  }
  self->reason = "it is cut off";
  return KIN_EHTTP;
}

const char *kin__inflate_reason(const kin__inflate *self) {
  return self->reason != NULL ? self->reason : "no reason given";
}
