/* SPDX-License-Identifier: MIT */
#ifndef KIN_PAGER_H
#define KIN_PAGER_H

/** @file
 * One pass over a resource, page by page. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lists a resource once, page by page, and gives each item to a callback, one
 * at a time and in the list's order, without keeping any (client-go's
 * tools/pager). A pager is for a program that wants one pass over all objects,
 * an audit or a migration, and no cache.
 *
 * An item is given while the bytes of its page still arrive, so items of a page
 * that breaks off may have been given. Pages are requested as needed; the
 * number in memory is bounded, see pages_ahead. Pages after the first are
 * requested with the token alone; they are of the version of the first.
 *
 * A page is requested again, up to 10 times in a row, if nothing of it has
 * come. The server must have put the request off (429 or 5xx with the header
 * Retry-After), or the connection must have broken (then a second later). Every
 * other failure ends the list, after the items that came before it have been
 * given. */
typedef struct kin_pager kin_pager;

/** Takes an item; an event callback. `item` is valid during the call; keep it
 * with kin_object_ref. Any result but 0 ends the list. */
typedef int (*kin_pager_item_cb)(const kin_object *item, void *data);

/** The result of a list. The strings are valid during the call, never NULL. */
typedef struct kin_pager_result {
  size_t size; /**< see KIN_HAS */
  /** 0: all items have been given. Or the result of on_item. Or a failure's
   * code: KIN_EGONE (the token has expired before the last page, 410; or the
   * server has another address, status 0), KIN_ESTATUS and every code that
   * on_error of an informer gets. */
  int code;
  kin_error_class error_class; /**< KIN_CLASS_NONE if there was no failure */
  int status;                  /**< HTTP or Status code, 0 if there was none */
  const char *reason;          /**< Status reason such as "Expired" */
  const char *message;         /**< for people */

  /** The list's version; "" if no page has come. */
  const char *resource_version;
  bool is_paginated; /**< the list had more than one page */
  uint64_t items;    /**< items given */
} kin_pager_result;

/** Called once when a list has ended by itself; no item comes after it. An
 * event callback. */
typedef void (*kin_pager_end_cb)(const kin_pager_result *result, void *data);

/** Called for each failure that is followed by another attempt, and for single
 * items as kin_error_cb says; an event callback. Items that are not told of
 * when the list ends are told of right before the end. The callback may answer
 * through the event: KIN_STOP ends the list with that failure. */
typedef void (*kin_pager_error_cb)(kin_error_event *event, void *data);

/** Called once when a pager is gone. */
typedef void (*kin_pager_close_cb)(void *data);

/** Options of kin_pager_open. */
typedef struct kin_pager_options {
  size_t size; /**< set by the INIT macro */

  /** The listed resource; required, copied. Used are group, version, plural,
   * namespaces (at most one), label_selector, field_selector, page_size (0:
   * 500, KIN_NEVER: all in one page), max_object_bytes, keep_managed_fields,
   * fields, metadata_only, source, parameters, and modify with its data.
   * no_watch_list, data and transform_data have no effect. The rest must be as
   * KIN_INFORMER_OPTIONS_INIT has it. An item over max_object_bytes is given
   * with its key only. */
  const kin_informer_options *resource;

  /** The requested version, at most 63 bytes, and its meaning: "Exact" or
   * "NotOlderThan". NULL or "": the newest version. "0": any version that the
   * server has at hand; the server may then ignore the page size. Copied. */
  const char *resource_version;
  const char *resource_version_match;

  /** Number of complete pages that may wait behind the one that is being given,
   * while one more is requested; at most 1,000. client-go's default is 10. So
   * at most pages_ahead + 2 pages are in memory. If a page is larger than
   * requested, reading stops at the number of items of that many pages (with a
   * source of the program's own, if it can be paused). */
  uint32_t pages_ahead;

  /** Give no item before the list is complete (client-go's List, instead of
   * EachListItem): then either all items are given or none. All of them are in
   * memory. If a later page has expired, the whole list is requested again in
   * one page, unless no_full_list is set. */
  bool whole_list;
  bool no_full_list;

  kin_pager_item_cb on_item;   /**< required */
  kin_pager_end_cb on_end;     /**< may be NULL */
  kin_pager_error_cb on_error; /**< may be NULL: retried all the same */
  /** May be NULL; also if the client closed it. */
  kin_pager_close_cb on_closed;
  void *data; /**< passed to all four */
} kin_pager_options;
/** Sets the size, and each member to its default. */
#define KIN_PAGER_OPTIONS_INIT                                                 \
  {                                                                            \
    sizeof(kin_pager_options), NULL, NULL, NULL, 0, false, false, NULL, NULL,  \
        NULL, NULL, NULL                                                       \
  }

/** Opens a pager and asks for the first page, in its turn: each page counts as
 * one of the client's lists (max_lists) until it has been read, or reading is
 * stopped. The client closes the pager if it is still open when the client is
 * closed.
 * Errors: KIN_EINVAL (names, fields, more than one namespace, options that must
 * not be set, a source without its functions, the version or its match, Exact
 * with "0", pages_ahead, no on_item), KIN_ENOTSUP (options of a newer version),
 * KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then. */
KIN_EXTERN int kin_pager_open(kin_pager **out, kin_client *client,
                              const kin_pager_options *options);

/** Ends a pager. No callback comes after this call except cb (may be NULL) and
 * on_closed, from a later loop iteration; then the pager is gone. Items that
 * have not been given are dropped. Legal in every event callback, and needed
 * after on_end, too.
 * Errors: KIN_EALREADY (closing; cb is not called). */
KIN_EXTERN int kin_pager_close(kin_pager *pager, kin_pager_close_cb cb,
                               void *data);

/** Stops or continues giving items, the end included. Nothing is lost, but a
 * token may expire (an API server's after some five minutes). */
KIN_EXTERN void kin_pager_pause(kin_pager *pager);
KIN_EXTERN void kin_pager_resume(kin_pager *pager);

#ifdef __cplusplus
}
#endif

#endif /* KIN_PAGER_H */
