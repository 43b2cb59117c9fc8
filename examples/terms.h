/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_TERMS_H
#define EXAMPLES_TERMS_H

/* The terms of a leader: a work queue for each, which begins with all objects of
 * an informer, and one write at a time. A file to copy; controller.c uses it.
 *
 * - kin_leader_elector_is_leader() is asked before each write. When on_stopped()
 *   returns, no write begins any more, and one on its way is given up.
 * - A copy that is paused after that question writes late. So each write must
 *   have the resourceVersion of the object that it was made from: the server
 *   refuses it if another leader has written the object since. Then for each
 *   object terms never go back, and one write removes a finalizer. What a Lease
 *   cannot prevent: a late write to an object that nobody has written since. The
 *   next leader sees it.
 * - A copy that has lost the lease competes again when nothing of its term is
 *   left. */

#include <inttypes.h>
#include <stdio.h>

#include <kin/leader_election.h>
#include <kin/request.h>
#include <kin/work_queue.h>

typedef struct terms {
  /* Set by the program. */
  kin_client *client;
  kin_informer *informer;
  kin_work_cb worker;
  kin_work_keys_cb keys;

  kin_leader_elector *elector;
  kin_work_queue *queue;     /* of this term; NULL: none */
  const kin_work_item *item; /* the one that is written for */
  kin_request *request;      /* its write; NULL: none */
  bool is_ending;
} terms;

static void terms_tell(const char *problem) {
  fprintf(stderr, "controller: %s\n", problem);
}

/* To be called when the informer has synced. */
static void terms_compete(terms *t) {
  if (t->queue == NULL && t->request == NULL && !t->is_ending) {
    kin_leader_elector_start(t->elector);
  }
}

/* ---- writing */

static void terms_on_written(const kin_response *response, void *data) {
  terms *t = data;
  bool is_done = response->code == 0 || response->code == KIN_ENOENT;
  if (!is_done && response->code != KIN_ECONFLICT) { /* the cache was behind */
    terms_tell(response->message);
  }
  t->request = NULL;
  if (t->queue != NULL) {
    kin_work_done(t->item, is_done ? KIN_WORK_SUCCESS : KIN_WORK_RETRY);
  }
  terms_compete(t);
}

/* Begins a write, at whose end the item is answered. KIN_EALREADY: this copy
 * does not lead; the next leader begins with all objects. */
static int terms_write(terms *t, const kin_work_item *item,
                       const kin_request_spec *spec) {
  t->item = item;
  return kin_leader_elector_is_leader(t->elector)
             ? kin_request_start(&t->request, t->client, spec, terms_on_written,
                                 t)
             : KIN_EALREADY;
}

/* ---- beginning and end of a term */

static void terms_on_queue_closed(void *data) {
  terms *t = data;
  t->queue = NULL;
  terms_compete(t);
}

static void terms_on_started(kin_leader_elector *elector, void *data) {
  terms *t = data;
  printf("leading as %s, term %" PRId64 "\n",
         kin_leader_elector_identity(elector),
         kin_leader_elector_term(elector));
  kin_work_queue_options queue = KIN_WORK_QUEUE_OPTIONS_INIT;
  queue.worker = t->worker;
  queue.on_closed = terms_on_queue_closed;
  queue.data = t; /* the worker's */
  kin_work_follow_options follow = KIN_WORK_FOLLOW_OPTIONS_INIT;
  follow.keys = t->keys;
  /* While the queue is full, an object may have another owner for a moment. That
   * owner gets a key, too: the worker may have counted the object there. */
  follow.exact = t->keys != NULL;
  int err = kin_work_queue_open(&t->queue, t->client, &queue);
  if (err == 0) {
    err = kin_work_queue_follow(t->queue, t->informer, &follow);
  }
  if (err != 0) {
    terms_tell(kin_strerror(err));
    kin_leader_elector_stop(elector); /* and competes again */
  }
}

static void terms_on_stopped(kin_leader_elector *elector,
                             const kin_leader_stop *stop, void *data) {
  (void)elector;
  terms *t = data;
  printf("stopped: %s\n", stop->message);
  if (t->request != NULL) {
    kin_request_cancel(t->request, UV_ECANCELED);
  }
  if (t->queue != NULL) {
    kin_work_queue_close(t->queue, NULL, NULL);
  }
  terms_compete(t);
}

static void terms_on_error(kin_error_event *event, void *data) {
  (void)data;
  terms_tell(event->message);
}

/* Opens the elector; lease_s as lease_duration_s, at least 1. */
static int terms_open(terms *t, const char *namespace_, const char *name,
                      uint32_t lease_s) {
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = namespace_;
  options.name = name;
  options.lease_duration_s = lease_s;
  options.renew_deadline_ms = lease_s * 2000 / 3;
  options.retry_period_ms = lease_s * 2000 / 15;
  options.release_on_stop = true;
  options.on_started = terms_on_started;
  options.on_stopped = terms_on_stopped;
  options.on_error = terms_on_error;
  options.data = t;
  return kin_leader_elector_open(&t->elector, t->client, &options);
}

static void terms_on_elector_closed(void *data) { /* the lease is released */
  kin_client_close(((terms *)data)->client, NULL, NULL);
}

/* Ends the term, then the elector, then the client. */
static void terms_end(terms *t) {
  t->is_ending = true;
  kin_leader_elector_close(t->elector, terms_on_elector_closed, t);
}

#endif /* EXAMPLES_TERMS_H */
