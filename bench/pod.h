/* SPDX-License-Identifier: MIT */
#ifndef BENCH_POD_H
#define BENCH_POD_H

#include <kin/object.h>

/* A pod of 5.4 KB of the shape that an API server sends; `i` makes it differ
 * from others. It has the labels app, pod-template-hash and team, one of 100
 * namespaces, and one of 500 nodes. */
kin_object *bench_pod(unsigned i);

#endif /* BENCH_POD_H */
