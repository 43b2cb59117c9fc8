/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_ODD_BODIES_H
#define KIN_TEST_ODD_BODIES_H

/* The documents that a server sends, as json_mutations takes them. */

/* Statuses; NULL ends them. */
extern const char *const odd_statuses[];

/* An object with a member of each type in each place that has a meaning. */
#define ODD_POD                                                                \
  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p0\","     \
  "\"namespace\":\"even\",\"uid\":\"uid-0-1\",\"resourceVersion\":\"101\","    \
  "\"labels\":{\"app\":\"a0\"},\"annotations\":{\"x\":\"y\"},"                 \
  "\"managedFields\":[{\"x\":[1]}]},\"spec\":{\"nodeName\":\"n0\"}}"

/* A page of a list, its last one if `token` is "". */
#define ODD_LIST(token)                                                        \
  "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{"                 \
  "\"resourceVersion\":\"101\",\"continue\":\"" token                          \
  "\",\"remainingItemCount\":1},\"items\":[" ODD_POD "]}"

/* What is neither. */
#define ODD_TABLE                                                              \
  "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"       \
  "\"resourceVersion\":\"101\"},\"columnDefinitions\":[{\"name\":\"Name\"}],"  \
  "\"rows\":[{\"cells\":[\"p0\",1],\"object\":" ODD_POD "}]}"

/* A frame of a watch. */
#define ODD_FRAME(type, object) "{\"type\":\"" type "\",\"object\":" object "}"
#define ODD_BOOKMARK                                                           \
  "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"                     \
  "\"resourceVersion\":\"101\",\"creationTimestamp\":null,"                    \
  "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"

#endif /* KIN_TEST_ODD_BODIES_H */
