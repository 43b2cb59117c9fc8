/* SPDX-License-Identifier: MIT */

/* Follows the resource that a word names: po, Widget, deployments.apps,
 * deploy/web.
 *
 *     kubectl proxy --port=8001 &
 *     follow_word http://127.0.0.1:8001 deploy/web
 *
 * Look at the callback of the look-up: it opens the informer, so its
 * options may depend on the resource. An unknown word says what is like it. */

#include <stdio.h>

#include <kin/discovery.h>
#include <kin/kin.h>

typedef struct follower {
  kin_client *client;
  kin_informer *informer;
  int status; /* of the process */
} follower;

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  static const char *const names[] = {"", "added", "changed", "deleted"};
  kin_str key = kin_object_key(event->object);
  printf("%s " KIN_STR_FORMAT "\n", names[event->type], KIN_STR_ARG(key));
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  (void)data;
  printf("in sync\n");
}

static int follow(follower *f, const kin_discovery_result *found) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = on_event;
  listener.on_synced = on_synced;
  int err =
      kin_discovery_open_informer(&f->informer, f->client, found, &options);
  if (err == 0) {
    err = kin_informer_listen(f->informer, &listener, NULL);
  }
  return err == 0 ? kin_informer_start(f->informer) : err;
}

static void on_found(const kin_discovery_result *found, void *data) {
  follower *f = data;
  const char *problem = found->message;
  if (found->code == 0) {
    const kin_api_resource *resource = found->resources[0];
    printf("%s of %s%s%s\n", resource->kind, resource->group,
           resource->group[0] != '\0' ? "/" : "", resource->version);
    if (follow(f, found) == 0) {
      return;
    }
    problem = kin_client_problem(f->client);
  }
  fprintf(stderr, "follow_word: %s\n", problem);
  f->status = 1;
  kin_client_close(f->client, NULL, NULL);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: follow_word URL WORD\n");
    return 2;
  }
  uv_loop_t *loop = uv_default_loop();
  setvbuf(stdout, NULL, _IOLBF, 0);
  follower f = {.status = 0};
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = argv[1];
  int err = kin_client_open(&f.client, loop, &options);
  if (err == 0) {
    err = kin_discovery_find(NULL, f.client, argv[2], on_found, &f);
    if (err != 0) {
      fprintf(stderr, "follow_word: %s\n", kin_client_problem(f.client));
      kin_client_close(f.client, NULL, NULL);
    }
    uv_run(loop, UV_RUN_DEFAULT);
  } else {
    fprintf(stderr, "follow_word: %s\n", kin_strerror(err));
  }
  uv_loop_close(loop);
  return err != 0 ? 1 : f.status;
}
