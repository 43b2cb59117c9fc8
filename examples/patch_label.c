/* SPDX-License-Identifier: MIT */

/* Sets the label "team" of a config map, unless it has been changed since a
 * version that the user has seen.
 *
 *     kubectl proxy --port=8001 &
 *     patch_label http://127.0.0.1:8001 default/settings blue 1234
 *
 * Exit status: 0 done, 1 failed, 2 usage, 4 conflict.
 *
 * Look at on_response(): it tells a conflict from every other refusal by
 * its code; the message is for people. A merge patch with a resourceVersion is
 * a condition; without one, the last writer wins. */

#include <stdio.h>
#include <string.h>

#include <kin/kin.h>
#include <kin/request.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFLICT = 4 };

typedef struct patcher {
  kin_client *client;
  int status; /* of the process */
} patcher;

static void print_object(const kin_response *response) {
  kin_object *object;
  if (kin_response_object(&object, NULL, response) == 0) {
    printf(KIN_STR_FORMAT " is at version " KIN_STR_FORMAT "\n",
           KIN_STR_ARG(kin_object_key(object)),
           KIN_STR_ARG(kin_object_resource_version(object)));
    kin_object_unref(object);
  }
}

static void on_response(const kin_response *response, void *data) {
  patcher *p = data;
  if (response->code == 0) {
    print_object(response);
    p->status = 0;
  } else if (response->code == KIN_ECONFLICT) {
    printf("changed meanwhile: get " KIN_STR_FORMAT " again\n",
           KIN_STR_ARG(response->details_name));
    p->status = EXIT_CONFLICT;
  } else {
    fprintf(stderr, "patch_label: %s\n", response->message);
  }
  kin_client_close(p->client, NULL, NULL);
}

static int patch(patcher *p, const char *namespace_, const char *name,
                 const char *team, const char *version) {
  char body[512];
  /* A real program would make sure that both words are no JSON. */
  int length = snprintf(body, sizeof(body),
                        "{\"metadata\":{\"resourceVersion\":\"%s\","
                        "\"labels\":{\"team\":\"%s\"}}}",
                        version, team);
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = KIN_VERB_PATCH_MERGE;
  spec.plural = "configmaps";
  spec.namespace_ = namespace_;
  spec.name = name;
  spec.body = body;
  spec.body_length = (size_t)length;
  spec.field_manager = "patch_label";
  return kin_request_start(NULL, p->client, &spec, on_response, p);
}

int main(int argc, char **argv) {
  char *slash = argc == 5 ? strchr(argv[2], '/') : NULL;
  if (!slash || strlen(argv[3]) + strlen(argv[4]) > 400) {
    fprintf(stderr, "usage: patch_label URL NAMESPACE/NAME TEAM VERSION\n");
    return EXIT_USAGE;
  }
  *slash = '\0';
  uv_loop_t *loop = uv_default_loop();
  patcher p = {.status = EXIT_FAILED};
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int err = kin_client_open(&p.client, loop, &co);
  if (err == 0) {
    err = patch(&p, argv[2], slash + 1, argv[3], argv[4]);
    if (err != 0) {
      fprintf(stderr, "patch_label: %s\n", kin_client_problem(p.client));
      kin_client_close(p.client, NULL, NULL);
    }
  }
  if (err != 0) {
    fprintf(stderr, "patch_label: %s\n", kin_strerror(err));
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return p.status;
}
