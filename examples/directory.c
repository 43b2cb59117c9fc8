/* SPDX-License-Identifier: MIT */

/* An informer without an API server: a folder of .json files, one object in
 * each, that other programs write, change and delete. The program's code is the
 * same as with a cluster; only where objects come from is its own.
 *
 *     directory ./objects &
 *     echo '{"metadata":{"name":"a"}}' >objects/a.json
 *
 * What to look at: the lister-watcher at the end of the first part. The
 * informer asks it for a list, then for a watch from the list's version;
 * scan_done() feeds what it has. All of the reading is asynchronous, and a
 * kin_feed_ function is only called from a callback of the loop.
 *
 * A version is counted up for each change that is found. An object that several
 * files have is that of the file that changed last. A watch is never ended
 * here: the informer does that after a while, and asks again. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

enum { PATH_BYTES = 4096, FILE_BYTES = 1 << 20 };

typedef struct file {
  struct file *next;
  char *name;
  char *text;         /* as it was read last */
  kin_object *object; /* its last good content; NULL: it never had one */
  unsigned version;   /* of `object`, or of its end */
  bool is_seen;       /* by the scan that is running */
  bool is_gone;
} file;

typedef struct folder {
  uv_loop_t *loop;
  uv_fs_event_t changes;
  uv_signal_t interrupt;
  kin_client *client;
  const char *path;
  file *files;
  unsigned version;

  uv_fs_t scan; /* one at a time, */
  uv_fs_t read; /* one file at a time */
  uv_file fd;
  bool is_scanning;
  bool is_stale; /* something changed since it began */
  bool is_ending;
  char name[PATH_BYTES];
  char bytes[FILE_BYTES];

  kin_feed *feed; /* who asks; NULL: nobody */
  bool is_watch;
  unsigned fed; /* a watch has been told everything up to this version */
} folder;

static void scan(folder *f);
static void next_file(folder *f);

/* The file with the newest content of that object, after a scan. */
static file *holder_of(const folder *f, const kin_object *object) {
  file *newest = NULL;
  for (file *i = f->files; i; i = i->next) {
    if (i->object && i->is_seen && !i->is_gone &&
        kin_str_equal(kin_object_key(i->object), kin_object_key(object)) &&
        (!newest || i->version > newest->version)) {
      newest = i;
    }
  }
  return newest;
}

/* ---- what the informer is told */

static void feed_list(folder *f) {
  kin_feed *feed = f->feed;
  char version[16];
  for (const file *i = f->files; i; i = i->next) {
    if (i->object && holder_of(f, i->object) == i &&
        kin_feed_item(feed, i->object) != 0) {
      return; /* cancelled, and the informer knows why */
    }
  }
  snprintf(version, sizeof version, "%u", f->version);
  f->feed = NULL; /* it ends with the next line, which may open another */
  kin_feed_list_end(feed, version, NULL);
}

/* In the order of the versions, so that a watch can be taken up after any. */
static void feed_changes(folder *f) {
  kin_feed *feed = f->feed;
  int status = kin_feed_open(feed);
  while (status == 0 && f->fed < f->version) {
    f->fed++;
    for (const file *i = f->files; i && status == 0; i = i->next) {
      if (i->object && i->version == f->fed) {
        status = kin_feed_event(
            feed, i->is_gone ? KIN_WATCH_DELETED : KIN_WATCH_MODIFIED,
            i->object);
      }
    }
  }
}

static int open_answer(void *ctx, const kin_feed_request *request,
                       kin_feed *feed, void **out) {
  folder *f = ctx;
  f->feed = feed;
  f->is_watch = request->is_watch;
  f->fed = (unsigned)strtoul(request->resource_version, NULL, 10);
  *out = f;
  scan(f); /* answers when it is done */
  return 0;
}

static void cancel_answer(void *ctx, void *answer) {
  (void)answer;
  ((folder *)ctx)->feed = NULL;
}

/* ---- reading the folder */

/* Makes the object with the next version in it. */
static int stamp(const folder *f, kin_object *object, kin_object **stamped) {
  kin_object_builder *builder;
  char version[16];
  snprintf(version, sizeof version, "%u", f->version + 1);
  int status = kin_object_builder_new(&builder, NULL, object);
  if (status != 0) {
    return status;
  }
  kin_object_builder_set_string(builder, "/metadata/resourceVersion", version);
  return kin_object_builder_finish(builder, stamped);
}

/* The object ends with its file, unless another file has the object: the file
 * was renamed, or there were two. The content of the other file counts now, even
 * if that content is older. */
static void file_gone(folder *f, file *gone) {
  kin_object *stamped;
  file *other = gone->object ? holder_of(f, gone->object) : NULL;
  gone->is_gone = true;
  gone->text[0] = '\0';
  if (!other) {
    gone->version = ++f->version;
    return;
  }
  if (other->version < gone->version &&
      stamp(f, other->object, &stamped) == 0) {
    kin_object_unref(other->object);
    other->object = stamped;
    other->version = ++f->version;
  }
  kin_object_unref(gone->object);
  gone->object = NULL;
}

static void scan_done(folder *f) {
  f->is_scanning = false;
  if (f->is_ending) {
    return;
  }
  if (f->is_stale) { /* what is missing may have another name now */
    scan(f);
    return;
  }
  for (file *i = f->files; i; i = i->next) {
    if (!i->is_seen && !i->is_gone) {
      file_gone(f, i);
    }
  }
  if (f->feed && f->is_watch) {
    feed_changes(f);
  } else if (f->feed) {
    feed_list(f);
  }
}

/* The object with the next version in it, or NULL. */
static kin_object *make_object(folder *f, const char *text) {
  kin_object *object = NULL;
  kin_object *stamped = NULL;
  int status = kin_object_parse(&object, NULL, text, strlen(text));
  if (status == 0) {
    status = stamp(f, object, &stamped);
  }
  if (status != 0) {
    fprintf(stderr, "%s: %s\n", f->name, kin_strerror(status));
  }
  kin_object_unref(object);
  return stamped;
}

static file *new_file(folder *f, const char *name) {
  file *made = calloc(1, sizeof *made);
  if (!made || !(made->name = strdup(name)) || !(made->text = strdup(""))) {
    abort();
  }
  made->next = f->files;
  return f->files = made;
}

static file *find_file(folder *f, const char *name) {
  for (file *i = f->files; i; i = i->next) {
    if (strcmp(i->name, name) == 0) {
      return i;
    }
  }
  return new_file(f, name);
}

/* The file has an object of another name now. Its old object gets a file that
 * the scan does not find. */
static void leave_object(folder *f, const file *before) {
  file *left = new_file(f, "");
  left->object = kin_object_ref(before->object);
  left->is_gone = before->is_gone;
  left->version = before->version;
}

static void file_read(folder *f) {
  file *i = find_file(f, f->name);
  if (strcmp(i->text, f->bytes) == 0) {
    return;
  }
  free(i->text);
  i->text = strdup(f->bytes);
  if (!i->text) {
    abort();
  }
  kin_object *object = make_object(f, i->text);
  if (object) { /* else it stays as it was until it is mended */
    if (i->object &&
        !kin_str_equal(kin_object_key(i->object), kin_object_key(object))) {
      leave_object(f, i);
    }
    kin_object_unref(i->object);
    i->object = object;
    i->version = ++f->version;
    i->is_gone = false;
  }
}

static void on_closed_file(uv_fs_t *read) {
  uv_fs_req_cleanup(read);
  next_file(read->data);
}

static void on_read(uv_fs_t *read) {
  folder *f = read->data;
  ssize_t length = read->result;
  uv_fs_req_cleanup(read);
  find_file(f, f->name)->is_seen = true;
  if (length >= 0 && length < FILE_BYTES) {
    f->bytes[length] = '\0';
    file_read(f);
  }
  uv_fs_close(f->loop, &f->read, f->fd, on_closed_file);
}

static void on_open_file(uv_fs_t *read) {
  folder *f = read->data;
  f->fd = (uv_file)read->result;
  uv_fs_req_cleanup(read);
  if (f->fd < 0) {
    if (f->fd != UV_ENOENT) { /* gone in between */
      find_file(f, f->name)->is_seen = true;
    }
    next_file(f);
    return;
  }
  uv_buf_t buffer = uv_buf_init(f->bytes, FILE_BYTES);
  uv_fs_read(f->loop, &f->read, f->fd, &buffer, 1, 0, on_read);
}

static void next_file(folder *f) {
  uv_dirent_t entry;
  while (!f->is_ending && uv_fs_scandir_next(&f->scan, &entry) == 0) {
    size_t length = strlen(entry.name);
    if (length > 5 && strcmp(entry.name + length - 5, ".json") == 0) {
      char path[2 * PATH_BYTES];
      snprintf(f->name, sizeof f->name, "%s", entry.name);
      snprintf(path, sizeof path, "%s/%s", f->path, entry.name);
      uv_fs_open(f->loop, &f->read, path, UV_FS_O_RDONLY, 0, on_open_file);
      return;
    }
  }
  uv_fs_req_cleanup(&f->scan);
  scan_done(f);
}

/* What cannot be read has not gone: the informer asks again. */
static void scan_failed(folder *f, int status) {
  f->is_scanning = false;
  uv_fs_req_cleanup(&f->scan);
  if (f->feed) {
    kin_feed *feed = f->feed;
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = status;
    error.message = f->path;
    f->feed = NULL;
    kin_feed_fail(feed, &error, false);
  }
}

static void on_scanned(uv_fs_t *request) {
  if (request->result < 0) {
    scan_failed(request->data, (int)request->result);
  } else {
    next_file(request->data);
  }
}

static void scan(folder *f) {
  f->is_stale = f->is_scanning;
  if (f->is_scanning) {
    return;
  }
  f->is_scanning = true;
  for (file *i = f->files; i; i = i->next) {
    i->is_seen = false;
  }
  uv_fs_scandir(f->loop, &f->scan, f->path, 0, on_scanned);
}

static void on_change(uv_fs_event_t *changes, const char *name, int events,
                      int status) {
  (void)name;
  (void)events;
  (void)status;
  scan(changes->data);
}

/* ---- the program */

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  static const char *const names[] = {"", "added", "changed", "deleted"};
  kin_str key = kin_object_key(event->object);
  printf("%-8s" KIN_STR_FORMAT "\n", names[event->type], KIN_STR_ARG(key));
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)data;
  printf("in sync: %zu objects\n", event->objects);
}

static void on_signal(uv_signal_t *interrupt, int number) {
  folder *f = interrupt->data;
  (void)number;
  f->is_ending = true;
  uv_close((uv_handle_t *)interrupt, NULL);
  uv_close((uv_handle_t *)&f->changes, NULL);
  kin_client_close(f->client, NULL, NULL);
}

static int follow(folder *f) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = "http://127.0.0.1"; /* never asked */
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = open_answer;
  source.cancel = cancel_answer;
  source.ctx = f;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "objects";
  io.source = &source;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = on_event;
  lo.on_synced = on_synced;
  kin_informer *informer;
  int status = kin_client_open(&f->client, f->loop, &co);
  if (status == 0) {
    status = kin_informer_open(&informer, f->client, &io);
  }
  if (status == 0) {
    status = kin_informer_listen(informer, &lo, NULL);
  }
  return status == 0 ? kin_informer_start(informer) : status;
}

int main(int argc, char **argv) {
  static folder f;
  setvbuf(stdout, NULL, _IOLBF, 0);
  f.loop = uv_default_loop();
  f.path = argc > 1 ? argv[1] : ".";
  f.scan.data = f.read.data = f.changes.data = f.interrupt.data = &f;
  uv_fs_event_init(f.loop, &f.changes);
  uv_signal_init(f.loop, &f.interrupt);
  int status = uv_fs_event_start(&f.changes, on_change, f.path, 0);
  if (status == 0) {
    status = uv_signal_start(&f.interrupt, on_signal, SIGINT);
  }
  if (status == 0) {
    status = follow(&f);
  }
  if (status != 0) {
    fprintf(stderr, "directory: %s: %s\n", f.path, kin_strerror(status));
    return 1;
  }
  status = uv_run(f.loop, UV_RUN_DEFAULT);
  while (f.files) {
    file *gone = f.files;
    f.files = gone->next;
    kin_object_unref(gone->object);
    free(gone->name);
    free(gone->text);
    free(gone);
  }
  uv_loop_close(f.loop);
  return status;
}
