/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_H
#define KIN_TOOLKIT_H

/** @file
 * Tools that use informers: several informers as one (factory.h), waits
 * (wait.h, until.h), watches without a store (watch.h), lists page by page
 * (pager.h), reading by type and namespace (lister.h), and the queue of a
 * controller (work_queue.h, rate_limiter.h). */

#include <kin/factory.h>
#include <kin/kin.h>
#include <kin/lister.h>
#include <kin/metrics_text.h>
#include <kin/pager.h>
#include <kin/rate_limiter.h>
#include <kin/until.h>
#include <kin/wait.h>
#include <kin/watch.h>
#include <kin/work_queue.h>

#endif /* KIN_TOOLKIT_H */
