/* SPDX-License-Identifier: MIT */
#ifndef APISIM_CONTROL_H
#define APISIM_CONTROL_H

struct conn;

/* Answers a request under /sim/. The head of control.c lists them. */
void control_answer(struct conn *c);

#endif
