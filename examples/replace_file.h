/* SPDX-License-Identifier: MIT */

/* A file that is replaced as a whole, without blocking the loop. The text is
 * made in memory. A thread of libuv's pool writes the text to PATH.new, syncs it
 * and renames it, so readers see the old text or the new one, also when the
 * program is killed. What fails is tried again after a second.
 *
 *     replaced_file_init(&file, loop, "/etc/x.conf", on_replaced);
 *
 *     FILE *out = replaced_file_begin(&file);
 *     fprintf(out, ...);
 *     replaced_file_end(&file, true);
 */
#ifndef REPLACE_FILE_H
#define REPLACE_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#define REPLACED_FILE_PATH_MAX 4096
#define REPLACED_FILE_RETRY_MS 1000

typedef struct replaced_file {
  uv_loop_t *loop;
  const char *path;
  /* Called in the loop; `error` is 0, or an error code of libuv. */
  void (*on_replaced)(struct replaced_file *file, int error);

  FILE *out; /* writes to `made` */
  char *made;
  size_t length;

  uv_work_t work;
  uv_timer_t retry;
  char *text;   /* the file's, or what the thread writes; NULL: unknown */
  char *next;   /* to be written after that, or NULL */
  int error;    /* of the thread */
  bool is_busy; /* the thread writes `text` */
} replaced_file;

/* In the thread. */
static void replaced_file_write(uv_work_t *work) {
  replaced_file *file = work->data;
  char aside[REPLACED_FILE_PATH_MAX + sizeof ".new"]; /* too long: refused */
  snprintf(aside, sizeof aside, "%s.new", file->path);
  FILE *out = fopen(aside, "w");
  bool is_written = out != NULL && fputs(file->text, out) >= 0 &&
                    fflush(out) == 0 && fsync(fileno(out)) == 0;
  file->error = is_written ? 0 : uv_translate_sys_error(errno);
  if (out != NULL) {
    fclose(out);
  }
  if (is_written && rename(aside, file->path) != 0) {
    file->error = uv_translate_sys_error(errno);
  }
}

static void replaced_file_next(replaced_file *file);

static void replaced_file_on_retry(uv_timer_t *timer) {
  replaced_file_next(timer->data);
}

static void replaced_file_on_written(uv_work_t *work, int status) {
  (void)status; /* nothing cancels the work */
  replaced_file *file = work->data;
  file->is_busy = false;
  if (file->error == 0) {
    replaced_file_next(file);
  } else {
    if (file->next == NULL) {
      file->next = file->text;
      file->text = NULL;
    }
    uv_timer_start(&file->retry, replaced_file_on_retry, REPLACED_FILE_RETRY_MS,
                   0);
  }
  file->on_replaced(file, file->error);
}

/* Begins to write the next text, unless there is none, or it is there. */
static void replaced_file_next(replaced_file *file) {
  if (file->is_busy || file->next == NULL) {
    return;
  }
  bool is_same = file->text != NULL && file->error == 0 &&
                 strcmp(file->text, file->next) == 0;
  free(file->text);
  file->text = file->next;
  file->next = NULL;
  if (!is_same) {
    file->is_busy = true;
    uv_queue_work(file->loop, &file->work, replaced_file_write,
                  replaced_file_on_written);
  }
}

/* `path` is borrowed. */
static void replaced_file_init(replaced_file *file, uv_loop_t *loop,
                               const char *path,
                               void (*on_replaced)(replaced_file *, int)) {
  *file =
      (replaced_file){.loop = loop, .path = path, .on_replaced = on_replaced};
  file->work.data = file;
  file->retry.data = file;
  uv_timer_init(loop, &file->retry);
  uv_unref((uv_handle_t *)&file->retry);
}

/* Begins a text. Returns NULL if memory is out. */
static FILE *replaced_file_begin(replaced_file *file) {
  file->out = open_memstream(&file->made, &file->length);
  return file->out;
}

/* Ends the text, which becomes the file's; a text that waits is left out for it.
 * If memory was out, or is_whole is false, the file stays as it is. */
static void replaced_file_end(replaced_file *file, bool is_whole) {
  if (file->out == NULL || fclose(file->out) != 0 || !is_whole) {
    free(file->made);
    file->made = NULL;
    file->on_replaced(file, UV_ENOMEM);
    return;
  }
  free(file->next);
  file->next = file->made;
  file->made = NULL;
  replaced_file_next(file);
}

#endif /* REPLACE_FILE_H */
