/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_H
#define KIN_TOOLKIT_H

/** @file
 * Tools that use informers: several informers as one (factory.h), waits
 * (wait.h, until.h), watches without a store (watch.h), lists page by page
 * (pager.h), reading by type and namespace (lister.h), and finalizers and
 * owners (ownership.h).
 *
 * <kin/leader_election.h> and <kin/event_recorder.h> need the option requests,
 * too, and are included by themselves. */

#include <kin/factory.h>
#include <kin/kin.h>
#include <kin/lister.h>
#include <kin/metrics_text.h>
#include <kin/object_reference.h>
#include <kin/ownership.h>
#include <kin/pager.h>
#include <kin/until.h>
#include <kin/wait.h>
#include <kin/watch.h>

#endif /* KIN_TOOLKIT_H */
