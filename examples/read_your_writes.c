/* SPDX-License-Identifier: MIT */

/* Reads from a cache what has just been written to the server.
 *
 *     kubectl proxy --port=8001 &
 *     v=$(kubectl create configmap c1 -o jsonpath='{.metadata.resourceVersion}')
 *     read_your_writes http://127.0.0.1:8001 default "$v"
 *
 * It waits until its cache of the namespace's configmaps has each version, says
 * how many there are by then, and last whether the cache is up to date. It
 * exits with 0 if all of that came within ten seconds.
 *
 * What to look at: a controller that writes and then looks at its cache may
 * find what was there before, and write again. The answer to a write says which
 * version the object has now; kin_informer_wait_version calls back when the
 * cache has everything up to that, also if a selector hides the object. Who has
 * no version asks with kin_informer_verify. */

#include <stdio.h>

#include <kin/kin.h>

#define TIMEOUT_MS 10000

typedef struct reader {
  kin_client *client;
  const char *namespace_;
  int waiting;
  int status; /* of the process */
} reader;

static void say(reader *r, kin_informer *informer, int code, const char *what,
                const char *version) {
  if (code == 0) {
    printf("%s%s: %zu configmaps\n", what, version,
           kin_store_count(kin_informer_store(informer)));
  } else {
    fprintf(stderr, "read_your_writes: %s%s: %s\n", what, version,
            kin_strerror(code));
    r->status = 1;
  }
}

static void on_verified(kin_informer *informer, int code, const char *version,
                        void *data) {
  reader *r = data;
  say(r, informer, code, "up to date at ", version);
  kin_client_close(r->client, NULL, NULL);
}

static void verify(reader *r, kin_informer *informer) {
  int status =
      kin_informer_verify(informer, r->namespace_, TIMEOUT_MS, on_verified, r);
  if (status != 0) {
    say(r, informer, status, "verify", "");
    kin_client_close(r->client, NULL, NULL);
  }
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  reader *r = data;
  say(r, informer, code, "", version);
  if (--r->waiting == 0) {
    verify(r, informer);
  }
}

static int start(reader *r, char **versions) {
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "configmaps";
  io.namespaces = &r->namespace_;
  io.namespace_count = 1;
  kin_informer *informer;
  int status = kin_informer_open(&informer, r->client, &io);
  if (status == 0) {
    status = kin_informer_start(informer);
  }
  for (; status == 0 && *versions; versions++) {
    status = kin_informer_wait_version(informer, r->namespace_, *versions,
                                       TIMEOUT_MS, on_version, r);
    r->waiting += status == 0;
  }
  return status;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: read_your_writes URL NAMESPACE VERSION...\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uv_loop_t *loop = uv_default_loop();
  reader r = {.namespace_ = argv[2]};
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int status = kin_client_open(&r.client, loop, &co);
  if (status == 0) {
    status = start(&r, argv + 3);
    if (status != 0) {
      kin_client_close(r.client, NULL, NULL);
    }
  }
  if (status != 0) {
    fprintf(stderr, "read_your_writes: %s\n", kin_strerror(status));
    r.status = 1;
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return r.status;
}
