/* SPDX-License-Identifier: MIT */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <uv.h>

/* How long an event takes from the return of poll to its handler.
 *
 * When bytes became readable is known to the kernel only. After a poll that has
 * waited it was no later than the poll's return; after one that has not,
 * because something was readable or left to do already, it may have been at any
 * time since the last one that did. So the time is counted from the return of
 * the last poll that has waited: never too little, but for the time the kernel
 * took to wake the program, and too much when turns follow each other without
 * rest.
 *
 * libuv counts the time it spends waiting: a poll has returned that long after
 * it was entered, and it is entered when the prepare phase ends. */

/* Before uv_run. */
void latency_begin(uv_loop_t *loop);

/* At the end of each prepare phase. */
void latency_on_turn(uv_loop_t *loop);

/* Counting begins with the next poll that waits: what came meanwhile has waited
 * for other work. */
void latency_start(void);

/* In the handler of an event that counts. */
void latency_on_event(uv_loop_t *loop);

/* Prints members of the result, each after a comma. */
void latency_print(void);

#endif /* BENCH_LATENCY_H */
