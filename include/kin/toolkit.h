/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_H
#define KIN_TOOLKIT_H

/** @file
 * Tools that use informers: several informers as one (factory.h), waits
 * (wait.h, until.h), watches without a store (watch.h), lists page by page
 * (pager.h), reading by type and namespace (lister.h), changes of some fields
 * (change_filter.h), deleted objects by index (lingering_index.h), names for
 * metrics (informer_name.h), and the values in objects (value.h, fields.h,
 * meta.h, quantity.h, time.h). */

#include <kin/change_filter.h>
#include <kin/factory.h>
#include <kin/fields.h>
#include <kin/informer_name.h>
#include <kin/kin.h>
#include <kin/lingering_index.h>
#include <kin/lister.h>
#include <kin/meta.h>
#include <kin/metrics_text.h>
#include <kin/pager.h>
#include <kin/quantity.h>
#include <kin/time.h>
#include <kin/until.h>
#include <kin/value.h>
#include <kin/wait.h>
#include <kin/watch.h>

#endif /* KIN_TOOLKIT_H */
