/* SPDX-License-Identifier: MIT */
#ifndef KIN_KIN_H
#define KIN_KIN_H

/* Kubernetes informers on a libuv loop: includes every public header. Start
 * with client.h, then informer.h and handler.h. */

#include <kin/allocator.h>
#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/handler.h>
#include <kin/informer.h>
#include <kin/log.h>
#include <kin/object.h>
#include <kin/store.h>
#include <kin/str.h>
#include <kin/version.h>

#endif /* KIN_KIN_H */
