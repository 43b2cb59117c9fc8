/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_H
#define KIN_DISCOVERY_H

/** @file
 * Discovery: which resources the server has, and which of them a word names. */

#include <stdbool.h>
#include <stddef.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/export.h>
#include <kin/informer.h>
#include <kin/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One look-up, from kin_discovery_find or kin_discovery_list until its callback
 * has returned.
 *
 * A client has one table of the server's resources. The first look-up asks the
 * server; all that come meanwhile wait for the same answer. Later look-ups need
 * no request. The server is asked again, before a look-up is answered,
 * - when a word is unknown and the server was last asked 10 s ago or earlier;
 *   so a custom resource that was defined meanwhile is found;
 * - when all resources are asked for, some of them could not be told, and the
 *   server was last asked 10 s ago or earlier;
 * - after kin_discovery_refresh.
 * The server answers 304 to the ETags of its documents if nothing has changed;
 * the table stays then.
 *
 * The requests are those of kubectl: /api and /apis in the aggregated form
 * (apidiscovery.k8s.io/v2, v2beta1). A server that refuses this form (400, 404,
 * 406, 415) is asked in the old form: one request for each version of each
 * group. A version that the aggregated form calls stale, or without a readable
 * list of resources, is also asked by itself. A failure of one version of a
 * group leaves the others alone, and the version has the resources that were
 * known before, unless the answer is 404. If one of /api and /apis fails, its
 * versions are those that were known before, with the same exception.
 *
 * All requests of one time together have 32 s. A version of a group that has
 * not answered then, or was not asked, has failed; so look-ups do not wait
 * longer. The next time begins with the versions that had no time in this
 * one. */
typedef struct kin_discovery kin_discovery;

/** A resource in one version of its group. All strings and lists are the
 * library's. Lists end with a NULL, and are never NULL themselves. */
typedef struct kin_api_resource {
  size_t size;          /**< see KIN_HAS */
  const char *group;    /**< "" for the core group */
  const char *version;  /**< "v1" */
  const char *plural;   /**< "deployments" */
  const char *singular; /**< "deployment"; the kind in lower case, if the server
                         * does not say */
  const char *kind;     /**< "Deployment" */
  bool is_namespaced;   /**< its objects lie in namespaces */
  const char *const *short_names;  /**< "deploy" */
  const char *const *categories;   /**< "all" */
  const char *const *verbs;        /**< "list", "watch", ... */
  const char *const *subresources; /**< "scale", "status" */
} kin_api_resource;

/** Whether the server takes requests of that verb ("list", "watch", "patch") for
 * the resource. False if an argument is NULL. */
KIN_EXTERN bool kin_api_resource_has_verb(const kin_api_resource *resource,
                                          const char *verb);

/** The result of a look-up. All of it is valid during the callback. No pointer
 * is NULL, but that `resources` may be NULL if resource_count is 0. */
typedef struct kin_discovery_result {
  size_t size; /**< see KIN_HAS */

  /** 0: found. The rest is of kin_discovery_find; kin_discovery_list says which
   * codes it has.
   * KIN_ENOENT: the server has no such resource; `near_words` has similar
   * ones. With KIN_CLASS_ABSENT the server has neither /api nor /apis. As in kubectl this is also the answer if some versions of groups
   * could not be asked for, and were never known; `message` names them.
   * KIN_ETIMEDOUT: the word is unknown, and some versions of groups had no time
   * to answer yet, this time or before; `message` names them.
   * KIN_EAMBIGUOUS: `resources` has several of one version of a group, and the
   * word names each of them equally well.
   * KIN_ECLOSED: the client was closed. The code that kin_discovery_cancel was
   * given. KIN_ENOMEM.
   * Otherwise the server could not be asked, as told by kin_response.code. A
   * word that was known before is found nevertheless. If only a part of the
   * resources is known, because /api or /apis fails, the words of this part are
   * found; others end with this failure. */
  int code;
  kin_error_class error_class; /**< KIN_CLASS_NONE unless the server could not
                                * be asked, or not in time */
  int status;                  /**< HTTP status of that failure; 0: none */
  const char *message; /**< for people, on one line: 'the server has no resource
                        * "poods"; did you mean pods?'; "" if found */

  const char *word; /**< without the name */
  const char *name; /**< of an object, for "deployments/web"; else "" */
  bool is_category; /**< the word is a category, such as "all" */

  /** The resource that the word names comes first, in the version that the
   * server prefers unless the word has one. Resources of other groups follow
   * that the word would name without the first one: "pods" is also pods of
   * metrics.k8s.io. If the word is a category: all of its resources. At most
   * 1,024; of kin_discovery_list 16,384. */
  const kin_api_resource *const *resources;
  size_t resource_count;

  /** Words that the server knows, best first: at most 5. */
  const char *const *near_words;
  size_t near_count;

  /** If the server could not be asked: the reason of its Status, such as
   * "Forbidden", at most 63 bytes. Else "". */
  const char *reason;
} kin_discovery_result;

/** An event callback, called once. When the callback returns, the look-up is
 * gone. */
typedef void (*kin_discovery_cb)(const kin_discovery_result *result,
                                 void *data);

/** Finds the resource that a word names, as kubectl does: a category, a plural,
 * a singular, a short name, or a kind; upper and lower case are the same.
 * ".group" or ".version.group" may follow ("widgets.example.com",
 * "deploy.v1.apps"); the group may be the beginning of a group's name
 * ("ingresses.networking"). "/NAME" may follow all of that but a category. If
 * several groups have the word, the core group is first, then the server's
 * order counts.
 *
 * `cb` comes exactly once, from a later loop iteration; if the client is closed,
 * before its close callback. `out` may be NULL if there is no need to cancel;
 * `cb` must not be NULL.
 * Errors: KIN_EINVAL (no cb; the word is empty or longer than 1,024 bytes, has
 * control characters, more than one '/', or nothing on one side of it;
 * kin_client_problem says which), KIN_ECLOSED (client), KIN_ENOMEM. *out is
 * NULL then.
 * The look-up itself is O(resources of the server), in one step of a later
 * iteration. An answer of the server is read in small steps, but a group of more
 * than 256 KB takes a longer one: doc/discovery.md has times. */
KIN_EXTERN int kin_discovery_find(kin_discovery **out, kin_client *client,
                                  const char *word, kin_discovery_cb cb,
                                  void *data);

/** Which versions of a resource kin_discovery_list gives. */
typedef enum kin_discovery_versions {
  /** Of each resource one: that of the version that its group prefers, or of the
   * group's first version that has the resource. */
  KIN_DISCOVERY_PREFERRED = 0,
  KIN_DISCOVERY_ALL_VERSIONS = 1
} kin_discovery_versions;

/** Finds all resources that the server has: those of the core group first, then
 * the groups in the server's order, each with its preferred version first. The
 * same table answers, and the server is asked as for a word. client-go:
 * ServerPreferredResources and ServerGroupsAndResources.
 *
 * `cb` comes as that of kin_discovery_find, with `word` and `name` "". `code` is
 * 0 if there is a table, KIN_ECLOSED, KIN_ENOMEM, the code that
 * kin_discovery_cancel was given, or tells why the server could not be asked.
 * With 0, `message` is "" if the server has told all of its resources. Otherwise
 * `message` names the versions of groups that could not be asked for, or tells
 * why /api or /apis could not; error_class and status are those of the failure
 * of /api or /apis. `resources` then has the others, and those that were known
 * before. (client-go returns ErrGroupDiscoveryFailed and the others.)
 * Errors: KIN_EINVAL (no cb; versions; kin_client_problem says which),
 * KIN_ECLOSED (client), KIN_ENOMEM. *out is NULL then.
 * Cost: as kin_discovery_find: O(resources of the server), in one step of a
 * later iteration. */
KIN_EXTERN int kin_discovery_list(kin_discovery **out, kin_client *client,
                                  kin_discovery_versions versions,
                                  kin_discovery_cb cb, void *data);

/** Gives up: cb comes from a later loop iteration with `code`, a negative code
 * that says why (UV_ECANCELED, for instance). Legal in every event callback, but
 * not once cb has returned.
 * Errors: KIN_EINVAL (code), KIN_EALREADY (cb is to come with another code, or
 * is being called). */
KIN_EXTERN int kin_discovery_cancel(kin_discovery *discovery, int code);

/** The server's resources have changed, or may have: look-ups that begin from
 * now on wait until the server has been asked again. A client that takes other
 * settings from its kubeconfig does this by itself. Requests nothing by itself,
 * so it may be called as often as the program likes: for each event of an
 * informer on customresourcedefinitions, for instance. Does nothing before the
 * first look-up.
 * Errors: KIN_ECLOSED. */
KIN_EXTERN int kin_discovery_refresh(kin_client *client);

/** Sets an event callback for failures to ask the server for its resources that
 * are followed by another try. A server that answers 429 or 5xx with a
 * Retry-After is asked again until the 32 s are over; without this callback
 * nobody is told meanwhile. It is called, and may answer, as
 * kin_request_spec.on_error, for each request: /api and /apis are two. A client
 * has one such callback, the last that was set; `cb` NULL: none. A failure that
 * no other try follows is the result of the look-ups.
 * Errors: KIN_ECLOSED, KIN_ENOMEM. */
KIN_EXTERN int kin_discovery_on_error(kin_client *client,
                                      kin_request_error_cb cb, void *data);

/** Opens an informer on the resource that a look-up has found; for its
 * callback:
 *
 *   static void on_found(const kin_discovery_result *found, void *data) {
 *     app *a = data;
 *     kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
 *     if (found->code != 0) {
 *       fprintf(stderr, "%s\n", found->message);
 *     } else if (kin_discovery_open_informer(&a->informer, a->client, found,
 *                                            &options) == 0) {
 *       kin_informer_listen(a->informer, &a->listener, NULL);
 *       kin_informer_start(a->informer);
 *     }
 *   }
 *
 * Takes group, version and plural from the first resource found; in the options
 * these are NULL. A name ("deployments/web") is added to field_selector. If the
 * resource has no namespaces, those of the options are ignored, as by kubectl.
 * Errors: those of kin_informer_open, and KIN_EINVAL (result->code is not 0; a
 * category; the options name a resource; the resource cannot be listed and
 * watched; kin_client_problem says which). *out is NULL then.
 * Cost: O(namespaces). */
KIN_EXTERN int kin_discovery_open_informer(kin_informer **out,
                                           kin_client *client,
                                           const kin_discovery_result *result,
                                           const kin_informer_options *options);

#ifdef __cplusplus
}
#endif

#endif /* KIN_DISCOVERY_H */
