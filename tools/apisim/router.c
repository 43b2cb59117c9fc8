/* SPDX-License-Identifier: MIT */
#include "router.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "conn.h"
#include "control.h"
#include "discovery.h"
#include "list.h"
#include "replay.h"
#include "sim.h"
#include "status.h"
#include "watch.h"
#include "write.h"

static bool is_authorized(const conn *c) {
  const char *token = c->sim->opts->token;
  if (token == NULL) {
    return true;
  }
  slice value = request_header(&c->req, "Authorization");
  static const char SCHEME[] = "Bearer ";
  size_t scheme = sizeof SCHEME - 1;
  return value.len == scheme + strlen(token) &&
         strncasecmp(value.ptr, SCHEME, scheme) == 0 &&
         memcmp(value.ptr + scheme, token, strlen(token)) == 0;
}

/* Probes and the version are public on a real server, too. */
static bool is_public(const char *first) {
  static const char *const PATHS[] = {"healthz", "readyz", "livez", "version"};
  for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
    if (first != NULL && strcmp(first, PATHS[i]) == 0) {
      return true;
    }
  }
  return false;
}

static const char *verb_of(const conn *c, const char *name) {
  bool named = name != NULL;
  switch (c->req.method) {
  case HTTP_GET:
    if (named) {
      return "get";
    }
    return request_query_bool(&c->req, "watch") ? "watch" : "list";
  case HTTP_POST:
    return "create";
  case HTTP_PUT:
    return "update";
  case HTTP_PATCH:
    return "patch";
  case HTTP_DELETE:
    return named ? "delete" : "deletecollection";
  default:
    return "other";
  }
}

/* Fills in resource, namespace, name and subresource from the path segments
 * after the version. False if they name nothing this server has. */
static bool resolve(conn *c, const char *group, const char *version,
                    size_t first, api_call *out) {
  const request *r = &c->req;
  const registry *reg = &c->sim->registry;
  size_t count = r->path_count - first;
  const char *plural = request_segment(r, first);
  bool scoped = count >= 3 && strcmp(plural, "namespaces") == 0 &&
                strcmp(request_segment(r, first + 2), "status") != 0 &&
                strcmp(request_segment(r, first + 2), "finalize") != 0;
  if (scoped) {
    out->ns = request_segment(r, first + 1);
    first += 2;
    count -= 2;
    plural = request_segment(r, first);
  }
  out->c = c;
  out->res = registry_find(reg, group, version, plural);
  out->name = request_segment(r, first + 1);
  out->sub = request_segment(r, first + 2);
  if (out->res == NULL || count > 3 || (scoped && !out->res->namespaced) ||
      (!scoped && out->res->namespaced && out->name != NULL)) {
    return false;
  }
  if (out->sub != NULL &&
      (strcmp(out->sub, "status") != 0 || !out->res->has_status)) {
    return false;
  }
  out->verb = verb_of(c, out->name);
  return true;
}

static bool resolve_resource(conn *c, api_call *out) {
  const request *r = &c->req;
  const char *first = request_segment(r, 0);
  if (r->path_count >= 3 && strcmp(first, "api") == 0) {
    return resolve(c, "", request_segment(r, 1), 2, out);
  }
  if (r->path_count >= 4 && strcmp(first, "apis") == 0) {
    return resolve(c, request_segment(r, 1), request_segment(r, 2), 3, out);
  }
  return false;
}

/* Whether the path lies in a group and version that is built in: those answer
 * an unknown resource with a Status, all others with plain text. */
static bool names_builtin_version(const conn *c) {
  const request *r = &c->req;
  const char *first = request_segment(r, 0);
  bool core = first != NULL && strcmp(first, "api") == 0;
  bool group = first != NULL && strcmp(first, "apis") == 0;
  const char *name = group ? request_segment(r, 1) : "";
  const char *version = request_segment(r, group ? 2 : 1);
  if ((!core && !group) || name == NULL || version == NULL) {
    return false;
  }
  for (const resource *res = c->sim->registry.first; res != NULL;
       res = res->next) {
    if (!res->custom && strcmp(res->group, name) == 0 &&
        strcmp(res->version, version) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_write(const char *verb) {
  return strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0 &&
         strcmp(verb, "watch") != 0;
}

/* By --forbid, which is about all resources of a plural. */
static bool is_forbidden(const api_call *call) {
  const options *opts = call->c->sim->opts;
  for (size_t i = 0; i < opts->forbid.count; i++) {
    if (strcmp(opts->forbid.items[i], call->res->plural) == 0) {
      return true;
    }
  }
  return false;
}

static void answer_resource(api_call *call) {
  conn *c = call->c;
  if (is_forbidden(call)) {
    status_forbidden(c, call->res, call->ns, call->name, call->verb);
    return;
  }
  if (strcmp(call->verb, "other") == 0) {
    status_method_not_allowed(c);
    return;
  }
  call->media = media_negotiate(request_header(&c->req, "Accept"));
  if (is_write(call->verb)) {
    write_answer(call);
  } else if (replay_answer(call)) {
    return;
  } else if (strcmp(call->verb, "watch") == 0) {
    watch_answer(call);
  } else if (strcmp(call->verb, "list") == 0) {
    list_answer(call);
  } else {
    list_get_one(call);
  }
}

void router_handle(conn *c) {
  if (!request_parse_target(&c->req)) {
    stats_asked(&c->sim->stats, c, "other", NULL);
    status_unknown_path(c);
    return;
  }
  const char *first = request_segment(&c->req, 0);
  if (first != NULL && strcmp(first, "sim") == 0) {
    c->uncounted = true;
    control_answer(c);
    return;
  }
  api_call call = {0};
  bool is_resource = resolve_resource(c, &call);
  const char *verb = is_resource ? call.verb : verb_of(c, "");
  const char *plural = is_resource ? call.res->plural : NULL;
  stats_asked(&c->sim->stats, c, verb, plural);
  if (faults_apply(c, verb, plural)) {
    return;
  }
  if (!is_public(first) && !is_authorized(c)) {
    status_unauthorized(c);
  } else if (is_resource) {
    answer_resource(&call);
  } else if (!discovery_answer(c)) {
    if (names_builtin_version(c)) {
      status_unknown_resource(c);
    } else {
      status_unknown_path(c);
    }
  }
}
