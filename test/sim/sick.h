/* SPDX-License-Identifier: MIT */
#ifndef KIN_SIM_SICK_H
#define KIN_SIM_SICK_H

#include <stdbool.h>

/* Parts of a server that make progress for ever and never finish, or never
 * begin. A sickness belongs to a path: one namespace's pods, all pods, or the
 * nodes. All other paths are answered as ever. */

typedef enum sim_sickness {
  SIM_HEALTHY = 0,
  SIM_SICK_NO_HEAD,    /* no request is ever answered */
  SIM_SICK_TRICKLE,    /* a byte of a list now and then */
  SIM_SICK_PAGES,      /* each page of a list has a next one, empty at last */
  SIM_SICK_EVENTS,     /* streams bring events, and their lists never end */
  SIM_SICK_BOOKMARKS,  /* the same with bookmarks */
  SIM_SICK_ERROR_BODY, /* errors whose bodies never end */
  SIM_SICK_THROTTLED,  /* 429 */
  SIM_SICK_FAILING,    /* 500 */
  SIM_SICKNESSES
} sim_sickness;

struct sim_net;
struct sim_conn;

/* Answers a request of a sick path, if the sickness does so; else it is
 * answered as by a healthy server, and what comes of that is spoiled by
 * sim_sick_spoil. */
bool sim_sick_answer(struct sim_net *net, struct sim_conn *conn);
void sim_sick_spoil(struct sim_net *net, struct sim_conn *conn);
/* What such an answer has to send now; false if that is nothing. */
bool sim_sick_go_on(struct sim_net *net, struct sim_conn *conn);

const char *sim_sickness_name(sim_sickness sickness);

#endif /* KIN_SIM_SICK_H */
