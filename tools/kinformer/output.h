/* SPDX-License-Identifier: MIT */
#ifndef KINFORMER_OUTPUT_H
#define KINFORMER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "text.h"

/* Standard output, without ever blocking the loop on a slow reader.
 *
 * Whoever prints appends whole lines to output_text() and calls output_commit()
 * after each. The bytes are written at the end of the loop iteration: pipes and
 * terminals through a non-blocking libuv stream, sockets by send(2), which does
 * not wait, anything else (files, devices) by write(2). Bytes that the reader
 * does not take yet are kept; above OUTPUT_FULL bytes the owner is told to stop
 * printing, and again when there is room.
 *
 * A pipe's O_NONBLOCK flag is shared with every process that has the same pipe,
 * so it is put back when the output closes. */

enum {
  OUTPUT_FULL = 1024 * 1024,
  OUTPUT_ROOM = OUTPUT_FULL / 2,
};

typedef struct output_callbacks {
  void (*full)(void *data);
  void (*room)(void *data);

  /* Writing failed for good: `status` is libuv's code, UV_EPIPE when the reader
   * has gone. Called once at most; everything unwritten is dropped. */
  void (*failed)(int status, void *data);
} output_callbacks;

typedef struct output {
  uv_loop_t *loop;
  const output_callbacks *callbacks;
  void *data;
  int fd;
  int saved_flags; /* of fd, to be put back; -1: nothing to put back */

  /* `back` is filled by the printer, and `front` belongs to the running write:
   * it is not touched before that ends. Bytes of back before `start` have been
   * written, those after `committed` are a line that is being composed. */
  text back;
  size_t start;
  size_t committed;
  text front;
  bool is_writing;
  uv_write_t write;

  bool is_terminal;
  bool is_full; /* the owner was told so */
  int status;   /* why nothing can be written any more, or 0 */

  bool has_stream; /* written through `to`; otherwise with write(2) */
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tty_t tty;
    uv_poll_t room; /* of socket_fd */
  } to;
  int socket_fd;   /* written with send(2); -1: it is no socket */
  uv_poll_t watch; /* tells when a pipe's reader goes, even while idle */
  int watch_fd;    /* -1: not watched */
  uv_prepare_t prepare;
  uv_timer_t stall;
  unsigned open_handles;

  bool is_closing; /* output_close was called */
  bool is_ending;  /* the handles are being closed */
  size_t stall_pending;
  void (*closed)(void *data);
} output;

/* Opens the output on a descriptor, which stays the caller's. Open it before
 * anything else on the loop that prints: prepare handles are served last opened
 * first, and this one has to come last in an iteration. */
void output_open(output *out, uv_loop_t *loop, int fd,
                 const output_callbacks *callbacks, void *data);

/* Where the next line is to be appended. */
text *output_text(output *out);

/* Ends a line. Returns UV_ENOMEM if it could not be kept; it is dropped. */
int output_commit(output *out);

/* Bytes that have not been taken yet. */
size_t output_pending(const output *out);

/* Columns of the terminal, 80 if that is unknown. */
size_t output_columns(const output *out);

/* Drops what has not been taken and stops writing. */
void output_drop(output *out);

/* Closes once everything has been taken or dropped, and calls `closed` from a
 * later loop iteration. */
void output_close(output *out, void (*closed)(void *data));

/* From now on, what the reader leaves untouched for this long is dropped. */
void output_limit_stall(output *out, uint64_t limit_ms);

#endif /* KINFORMER_OUTPUT_H */
