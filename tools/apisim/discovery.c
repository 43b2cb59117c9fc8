/* SPDX-License-Identifier: MIT */
#include "discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "media.h"
#include "mem.h"
#include "openapi.h"
#include "sim.h"
#include "status.h"
#include "version.h"

static const char VERBS[] =
    "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\","
    "\"update\",\"watch\"]";
static const char ONE_BY_ONE_VERBS[] =
    "[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\","
    "\"watch\"]";
/* Custom resources come from another code path, in another order. */
static const char CUSTOM_VERBS[] =
    "[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\","
    "\"update\",\"watch\"]";
static const char STATUS_VERBS[] = "[\"get\",\"patch\",\"update\"]";

static const char *verbs_of(const resource *res) {
  if (res->custom) {
    return CUSTOM_VERBS;
  }
  return res->one_by_one ? ONE_BY_ONE_VERBS : VERBS;
}

static void put_lists(const resource *res, buf *out) {
  if (*res->short_names != '\0') {
    buf_printf(out, ",\"shortNames\":[%s]", res->short_names);
  }
  if (*res->category != '\0') {
    buf_printf(out, ",\"categories\":[\"%s\"]", res->category);
  }
}

/* ------------------------------------------------------------ one version */

static void put_hash(const resource *res, buf *out) {
  static const char LETTERS[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint64_t hash = 0;
  for (const char *c = res->qualified; *c != '\0'; c++) {
    hash = rng_mix(hash ^ (unsigned char)*c);
  }
  buf_puts(out, ",\"storageVersionHash\":\"");
  for (int i = 0; i < 10; i++) {
    buf_putc(out, LETTERS[hash >> (6 * i) & 63]);
  }
  buf_puts(out, "A=\"");
}

static void put_api_resource(const resource *res, buf *out) {
  buf_printf(out,
             "{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,"
             "\"kind\":\"%s\",\"verbs\":%s",
             res->plural, res->singular, res->namespaced ? "true" : "false",
             res->kind, verbs_of(res));
  put_lists(res, out);
  put_hash(res, out);
  buf_putc(out, '}');
  if (res->has_status) {
    buf_printf(out,
               ",{\"name\":\"%s/status\",\"singularName\":\"\",\"namespaced\":"
               "%s,\"kind\":\"%s\",\"verbs\":%s}",
               res->plural, res->namespaced ? "true" : "false", res->kind,
               STATUS_VERBS);
  }
}

/* False if nothing is served in this group and version. */
static bool put_resource_list(const struct sim *s, const char *group,
                              const char *version, buf *out) {
  bool core = *group == '\0';
  buf_printf(out,
             "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%s%s%s\","
             "\"resources\":[",
             core ? "" : "\"apiVersion\":\"v1\",", group, core ? "" : "/",
             version);
  bool any = false;
  for (const resource *r = s->registry.first; r != NULL; r = r->next) {
    if (r->served && strcmp(r->group, group) == 0 &&
        strcmp(r->version, version) == 0) {
      buf_puts(out, any ? "," : "");
      put_api_resource(r, out);
      any = true;
    }
  }
  buf_puts(out, "]}\n");
  return any;
}

/* ---------------------------------------------------------------- groups */

/* Whether the resource is the first served one of its group. */
static bool is_first(const struct sim *s, const resource *res) {
  if (!res->served) {
    return false;
  }
  for (const resource *r = s->registry.first; r != res; r = r->next) {
    if (r->served && strcmp(r->group, res->group) == 0) {
      return false;
    }
  }
  return true;
}

/* The first resource of the group's version that a server prefers next after
 * that of `before`; NULL = the most preferred one. NULL if there is none. */
static const resource *next_version(const struct sim *s, const char *group,
                                    const resource *before) {
  const resource *best = NULL;
  for (const resource *r = s->registry.first; r != NULL; r = r->next) {
    if (r->served && strcmp(r->group, group) == 0 &&
        (before == NULL || version_compare(before->version, r->version) < 0) &&
        (best == NULL || version_compare(r->version, best->version) < 0)) {
      best = r;
    }
  }
  return best;
}

static void put_group(const struct sim *s, const char *group, bool alone,
                      buf *out) {
  buf_puts(out, alone ? "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"," : "{");
  buf_printf(out, "\"name\":\"%s\",\"versions\":[", group);
  const resource *preferred = next_version(s, group, NULL);
  for (const resource *v = preferred; v != NULL;
       v = next_version(s, group, v)) {
    buf_printf(out, "%s{\"groupVersion\":\"%s\",\"version\":\"%s\"}",
               v != preferred ? "," : "", v->api_version, v->version);
  }
  buf_printf(out,
             "],\"preferredVersion\":{\"groupVersion\":\"%s\",\"version\":"
             "\"%s\"}}",
             preferred->api_version, preferred->version);
}

static void put_group_list(const struct sim *s, buf *out) {
  buf_puts(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\","
                "\"groups\":[");
  bool any = false;
  for (const resource *r = s->registry.first; r != NULL; r = r->next) {
    if (*r->group != '\0' && is_first(s, r)) {
      buf_puts(out, any ? "," : "");
      put_group(s, r->group, false, out);
      any = true;
    }
  }
  buf_puts(out, "]}\n");
}

/* ------------------------------------------------------------- aggregated */

static void put_discovered(const resource *res, buf *out) {
  const char *kind_group = res->custom ? res->group : "";
  const char *kind_version = res->custom ? res->version : "";
  buf_printf(out,
             "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\","
             "\"version\":\"%s\",\"kind\":\"%s\"},\"scope\":\"%s\","
             "\"singularResource\":\"%s\",\"verbs\":%s",
             res->plural, kind_group, kind_version, res->kind,
             res->namespaced ? "Namespaced" : "Cluster", res->singular,
             verbs_of(res));
  put_lists(res, out);
  if (res->has_status) {
    buf_printf(out,
               ",\"subresources\":[{\"subresource\":\"status\","
               "\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":"
               "\"%s\"},\"verbs\":%s}]",
               kind_group, kind_version, res->kind, STATUS_VERBS);
  }
  buf_putc(out, '}');
}

static void put_group_version(const resource *first, buf *out) {
  buf_printf(out, "{\"version\":\"%s\",\"resources\":[", first->version);
  for (const resource *r = first; r != NULL; r = r->next) {
    if (r->served && strcmp(r->group, first->group) == 0 &&
        strcmp(r->version, first->version) == 0) {
      buf_puts(out, r != first ? "," : "");
      put_discovered(r, out);
    }
  }
  buf_puts(out, "],\"freshness\":\"Current\"}");
}

static void put_aggregated(const struct sim *s, bool core, buf *out) {
  buf_puts(out, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
                "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
  bool any = false;
  for (const resource *g = s->registry.first; g != NULL; g = g->next) {
    if ((*g->group == '\0') != core || !is_first(s, g)) {
      continue;
    }
    buf_printf(out, "%s{\"metadata\":{", any ? "," : "");
    if (!core) {
      buf_printf(out, "\"name\":\"%s\"", g->group);
    }
    buf_puts(out, "},\"versions\":[");
    const resource *preferred = next_version(s, g->group, NULL);
    for (const resource *v = preferred; v != NULL;
         v = next_version(s, g->group, v)) {
      buf_puts(out, v != preferred ? "," : "");
      put_group_version(v, out);
    }
    buf_puts(out, "]}");
    any = true;
  }
  buf_puts(out, "]}\n");
}

/* The real tag is a SHA-512 in hexadecimal; all that matters to a client is
 * that it changes with the content. */
static void put_etag(const buf *body, buf *out) {
  buf_putc(out, '"');
  for (uint64_t part = 0; part < 8; part++) {
    uint64_t hash = rng_mix(part);
    for (size_t i = 0; i < body->len; i++) {
      hash = rng_mix(hash ^ (unsigned char)body->data[i]);
    }
    buf_printf(out, "%016llX", (unsigned long long)hash);
  }
  buf_putc(out, '"');
}

static void answer_aggregated(conn *c, bool core) {
  buf body = {0};
  buf etag = {0};
  put_aggregated(c->sim, core, &body);
  put_etag(&body, &etag);
  bool known = slice_is(request_header(&c->req, "If-None-Match"), etag.data);
  resp_begin(c, known ? 304 : 200,
             "application/json;g=apidiscovery.k8s.io;v=v2;"
             "as=APIGroupDiscoveryList");
  c->resp.cache_control = "public";
  resp_header(c, "Etag", etag.data);
  resp_header(c, "Vary", "Accept");
  if (!known) {
    resp_write_copy(c, body.data, body.len);
  }
  resp_end(c);
  buf_free(&body);
  buf_free(&etag);
}

/* ----------------------------------------------------------------- paths */

static void send_json(conn *c, buf *body) {
  resp_send(c, 200, "application/json", body->data, body->len);
  buf_free(body);
}

static void answer_api(conn *c, media m) {
  if (m == MEDIA_DISCOVERY) {
    answer_aggregated(c, true);
    return;
  }
  buf body = {0};
  buf_printf(&body,
             "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
             "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\","
             "\"serverAddress\":\"127.0.0.1:%d\"}]}\n",
             c->sim->server.port);
  send_json(c, &body);
}

static void answer_group(conn *c, const char *group) {
  for (const resource *r = c->sim->registry.first; r != NULL; r = r->next) {
    if (r->served && *group != '\0' && strcmp(r->group, group) == 0) {
      buf body = {0};
      put_group(c->sim, group, true, &body);
      buf_putc(&body, '\n');
      send_json(c, &body);
      return;
    }
  }
  status_unknown_path(c);
}

static void answer_resources(conn *c, const char *group, const char *version) {
  buf body = {0};
  if (put_resource_list(c->sim, group, version, &body)) {
    send_json(c, &body);
  } else {
    buf_free(&body);
    status_unknown_path(c);
  }
}

static void answer_version(conn *c) {
  static const char BODY[] =
      "{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n"
      "  \"emulationMajor\": \"1\",\n  \"emulationMinor\": \"36\",\n"
      "  \"minCompatibilityMajor\": \"1\",\n"
      "  \"minCompatibilityMinor\": \"35\",\n"
      "  \"gitVersion\": \"v1.36.3+apisim\",\n"
      "  \"gitCommit\": \"0000000000000000000000000000000000000000\",\n"
      "  \"gitTreeState\": \"clean\",\n"
      "  \"buildDate\": \"2026-11-20T00:00:00Z\",\n"
      "  \"goVersion\": \"none\",\n  \"compiler\": \"cc\",\n"
      "  \"platform\": \"linux/amd64\"\n}";
  resp_begin(c, 200, "application/json");
  c->resp.indent = false;
  resp_write_copy(c, BODY, sizeof BODY - 1);
  resp_end(c);
}

static void answer_health(conn *c) {
  resp_begin(c, 200, "text/plain; charset=utf-8");
  resp_header(c, "X-Content-Type-Options", "nosniff");
  resp_write_copy(c, "ok", 2);
  resp_end(c);
}

static bool answer_top(conn *c, const char *first, size_t count) {
  if (count == 1 && strcmp(first, "version") == 0) {
    answer_version(c);
    return true;
  }
  if (strcmp(first, "healthz") == 0 || strcmp(first, "readyz") == 0 ||
      strcmp(first, "livez") == 0) {
    answer_health(c);
    return true;
  }
  return false;
}

/* The paths of a real server that take HEAD as GET: all others are routes of
 * one method. */
static bool is_plain_handler(const char *first) {
  static const char *const PATHS[] = {"healthz", "readyz", "livez", "openapi"};
  for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
    if (strcmp(first, PATHS[i]) == 0) {
      return true;
    }
  }
  return false;
}

bool discovery_answer(conn *c) {
  const request *r = &c->req;
  const char *first = request_segment(r, 0);
  bool head = c->req.method == HTTP_HEAD;
  if ((c->req.method != HTTP_GET && !head) || first == NULL ||
      (head && !is_plain_handler(first))) {
    return false;
  }
  if (answer_top(c, first, r->path_count)) {
    return true;
  }
  if (strcmp(first, "openapi") == 0) {
    return openapi_answer(c);
  }
  bool api = strcmp(first, "api") == 0;
  bool apis = strcmp(first, "apis") == 0;
  media m = media_negotiate(request_header(r, "Accept"));
  if (!api && !apis) {
    return false;
  }
  if (m != MEDIA_JSON && m != MEDIA_DISCOVERY) {
    status_not_acceptable(c, NULL);
  } else if (r->path_count == 1 && api) {
    answer_api(c, m);
  } else if (r->path_count == 1 && m == MEDIA_DISCOVERY) {
    answer_aggregated(c, false);
  } else if (r->path_count == 1) {
    buf body = {0};
    put_group_list(c->sim, &body);
    send_json(c, &body);
  } else if (api && r->path_count == 2) {
    answer_resources(c, "", request_segment(r, 1));
  } else if (apis && r->path_count == 2) {
    answer_group(c, request_segment(r, 1));
  } else if (apis && r->path_count == 3) {
    answer_resources(c, request_segment(r, 1), request_segment(r, 2));
  } else {
    return false;
  }
  return true;
}
