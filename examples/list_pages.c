/* SPDX-License-Identifier: MIT */

/* Looks at every pod once and prints those that do not run: one pass, and no
 * cache.
 *
 *     kubectl proxy --port=8001 &
 *     list_pages http://127.0.0.1:8001
 *
 * What to look at: an item is given while the rest of its page still arrives,
 * and is gone when on_pod returns, so a hundred thousand pods need no more
 * memory than a thousand. What on_pod returns says whether to go on. */

#include <stdio.h>
#include <string.h>

#include <kin/toolkit.h>

typedef struct audit {
  kin_client *client;
  unsigned long idle; /* pods that do not run */
  int status;         /* of the process */
} audit;

static int on_pod(const kin_object *pod, void *data) {
  audit *a = data;
  kin_object_view *view;
  int status = kin_object_view_open(&view, pod);
  if (status != 0) {
    return status;
  }
  kin_str phase = {"Unknown", 7};
  kin_object_view_string(view, "/status/phase", &phase);
  if (phase.length != 7 || memcmp(phase.data, "Running", 7) != 0) {
    kin_str key = kin_object_key(pod);
    printf(KIN_STR_FORMAT " " KIN_STR_FORMAT "\n", KIN_STR_ARG(key),
           KIN_STR_ARG(phase));
    a->idle++;
  }
  kin_object_view_close(view);
  return 0;
}

static void on_end(const kin_pager_result *result, void *data) {
  audit *a = data;
  if (result->code == 0) {
    printf("%lu of %llu pods do not run, at version %s\n", a->idle,
           (unsigned long long)result->items, result->resource_version);
    a->status = 0;
  } else {
    fprintf(stderr, "list_pages: %s\n",
            result->message[0] != '\0' ? result->message
                                       : kin_strerror(result->code));
  }
  kin_client_close(a->client, NULL, NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: list_pages URL\n");
    return 2;
  }
  uv_loop_t *loop = uv_default_loop();
  audit a = {.status = 1};
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int status = kin_client_open(&a.client, loop, &co);
  if (status == 0) {
    kin_informer_options pods = KIN_INFORMER_OPTIONS_INIT;
    pods.plural = "pods";
    kin_pager_options po = KIN_PAGER_OPTIONS_INIT;
    po.resource = &pods;
    po.on_item = on_pod;
    po.on_end = on_end;
    po.data = &a;
    kin_pager *pager;
    status = kin_pager_open(&pager, a.client, &po);
    if (status != 0) {
      kin_client_close(a.client, NULL, NULL);
    }
  }
  if (status != 0) {
    fprintf(stderr, "list_pages: %s\n", kin_strerror(status));
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return a.status;
}
