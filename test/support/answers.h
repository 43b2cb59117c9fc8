/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_ANSWERS_H
#define KIN_TEST_ANSWERS_H

/* What an API server answers to a list and to a watch, as string literals. A
 * test puts together its own answers from the same parts. */

/* Heads. A body follows, to the end of the connection or in chunks. */
#define ANSWER_OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define ANSWER_TO_END ANSWER_OK "Connection: close\r\n\r\n"
#define ANSWER_CHUNKED ANSWER_OK "Transfer-Encoding: chunked\r\n\r\n"

/* Parts of bodies. */
#define ANSWER_POD(name, uid, version)                                         \
  "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid    \
  "\",\"resourceVersion\":\"" version "\"}}"
#define ANSWER_PODS(version, items)                                            \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version         \
  "\"},\"items\":[" items "]}"
#define ANSWER_CHANGE(type, pod) "{\"type\":\"" type "\",\"object\":" pod "}\n"

/* A list of two pods, and the event that takes one of them away: bodies, and
 * whole answers. */
#define ANSWER_LIST                                                            \
  ANSWER_PODS("7", ANSWER_POD("a", "1", "5") "," ANSWER_POD("b", "2", "6"))
#define ANSWER_EVENT ANSWER_CHANGE("DELETED", ANSWER_POD("a", "1", "8"))
#define ANSWER_LISTED ANSWER_TO_END ANSWER_LIST
#define ANSWER_WATCHED ANSWER_CHUNKED "66\r\n" ANSWER_EVENT "\r\n"

#endif /* KIN_TEST_ANSWERS_H */
