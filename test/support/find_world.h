/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FIND_WORLD_H
#define KIN_TEST_FIND_WORLD_H

#include "discovery/discovery.h"
#include "support/virtual_host.h"

/* Look-ups of words on a virtual clock, and discovery documents. */

#define FINDS 64
#define LIST(items)                                                            \
  "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"                        \
  "\"apidiscovery.k8s.io/v2\",\"items\":[" items "]}"
#define GROUP(name, resources)                                                 \
  "{\"metadata\":{\"name\":\"" name                                            \
  "\"},\"versions\":[{\"version\":\"v1\",\"resources\":[" resources            \
  "],\"freshness\":\"Current\"}]}"
#define RESOURCE(plural, kind, rest)                                           \
  "{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind            \
  "\"},\"verbs\":[\"get\",\"list\",\"watch\"]," rest                           \
  ",\"singularResource\":\"\"}"
#define NAMESPACED "\"scope\":\"Namespaced\""
#define CLUSTER "\"scope\":\"Cluster\""
#define APPS                                                                   \
  LIST(GROUP(                                                                  \
      "apps",                                                                  \
      RESOURCE(                                                                \
          "deployments", "Deployment",                                         \
          NAMESPACED                                                           \
          ",\"categories\":[\"all\"]") "," RESOURCE("nodes", "Node",           \
                                                    CLUSTER) ","               \
                                                             "{\"resource\":"  \
                                                             "\"reviews\","    \
                                                             "\"responseKind"  \
                                                             "\":{\"kind\":"   \
                                                             "\"Review\"},"    \
                                                             "\"verbs\":["     \
                                                             "\"create\"]}"))
#define CORE                                                                   \
  LIST(GROUP("",                                                               \
             RESOURCE("pods", "Pod", NAMESPACED ",\"shortNames\":[\"po\"]")))
#define WIDGETS GROUP("example.com", RESOURCE("widgets", "Widget", NAMESPACED))
#define APPS_AND_WIDGETS                                                       \
  LIST(GROUP("apps",                                                           \
             RESOURCE("deployments", "Deployment",                             \
                      NAMESPACED)) "," GROUP("example.com",                    \
                                             RESOURCE("widgets", "Widget",     \
                                                      NAMESPACED)))
/* The old form of one version. */
#define RESOURCES(plural, kind)                                                \
  "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"" plural           \
  "\",\"namespaced\":true,\"kind\":\"" kind "\",\"verbs\":[\"list\"]}]}"
#define API "/api?"
#define APIS "/apis?"

typedef struct find_world {
  virtual_host vh;
  kin_discovery *finds[FINDS];
  int begun;
  int ended;
  int code; /* of the last result */
  kin_error_class error_class;
  char reason[64];
  int status;
  char message[4096];
  char found[4096]; /* "pods.v1. " and so on */
  char word[64];
  char name[64];
  char near[512];
  bool is_category;
  size_t resource_count;
  void (*then)(struct find_world *w, const kin_discovery_result *result);
  kin_informer *informer;
  int open_code;
} find_world;

void find_world_init(find_world *w, size_t fail_at);
/* find_world_init, and the story with steps of one piece; the client is closed
 * after the n-th step. Returns whether there was one. */
bool find_world_close_after_step(find_world *w, int n,
                                 void (*story)(find_world *w));
/* Keeps the result in the world, which is its data. */
void find_world_on_found(const kin_discovery_result *result, void *data);
int find_world_try_find(find_world *w, const char *word);
void find_world_find(find_world *w, const char *word);
int find_world_try_list(find_world *w, kin_discovery_versions versions);
void find_world_list(find_world *w, kin_discovery_versions versions);
/* Answers both roots; fails if they were not asked in the aggregated form. */
void find_world_answer(find_world *w, const char *core, const char *groups);
/* Answers a request that may not have been made, or has ended. */
void find_world_respond_if_open(find_world *w, const char *part, int status,
                                const char *body);
void find_world_expect(const find_world *w, int code, const char *found);
unsigned find_world_requests(const find_world *w);
void find_world_finish(find_world *w);
void find_world_begin_with_table(find_world *w);

#endif /* KIN_TEST_FIND_WORLD_H */
