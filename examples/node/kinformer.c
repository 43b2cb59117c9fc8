/* SPDX-License-Identifier: MIT */

/* Informers in Node.js, on Node's own loop.
 *
 * Node-API gives an addon the uv_loop_t that runs JavaScript, so an informer
 * needs no thread and no copy between threads: a change is received, decoded,
 * stored and handed to JavaScript in one turn of that loop.
 *
 *     const { follow } = require("./kinformer.node");
 *     const pods = follow({ server: "http://127.0.0.1:8001", plural: "pods" },
 *                         (type, key, version) => console.log(type, key));
 *     pods.get("default/web-1");  // the object as JSON, from the cache
 *     pods.close();
 *
 * README.md beside this file says how to build it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <node_api.h>
#include <uv.h>

#include <kin/kin.h>

typedef struct follower {
  /* Those that may still use this memory: the client, and get and close, which
   * JavaScript may keep longer than the object they came with. */
  int holders;
  napi_env env;
  napi_ref on_change;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  bool is_node_ending; /* no JavaScript may be called */
  kin_client *client;
  kin_informer *informer; /* NULL: the close has begun */
} follower;

static napi_value throw_error(napi_env env, const char *text) {
  napi_throw_error(env, NULL, text);
  return NULL;
}

static void release(follower *f) {
  f->holders--;
  if (f->holders == 0) {
    free(f);
  }
}

static napi_value text_value(napi_env env, const char *text, size_t length) {
  napi_value value = NULL;
  napi_create_string_utf8(env, text, length, &value);
  return value;
}

/* Calls JavaScript from a callback of the library: with a scope of its own, and
 * so that promises run afterwards. */
static void call(follower *f, const char *type, kin_str key, kin_str version) {
  if (f->is_node_ending) {
    return;
  }
  napi_handle_scope scope;
  napi_value on_change;
  napi_value global;
  napi_value result;
  napi_open_handle_scope(f->env, &scope);
  napi_get_global(f->env, &global);
  napi_get_reference_value(f->env, f->on_change, &on_change);
  napi_value arguments[] = {text_value(f->env, type, NAPI_AUTO_LENGTH),
                            text_value(f->env, key.data, key.length),
                            text_value(f->env, version.data, version.length)};
  if (napi_make_callback(f->env, f->context, global, on_change, 3, arguments,
                         &result) == napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(f->env, &error);
    napi_fatal_exception(f->env, error);
  }
  napi_close_handle_scope(f->env, scope);
}

static const char *event_name(kin_event_type type) {
  switch (type) {
  case KIN_EVENT_ADD:
    return "add";
  case KIN_EVENT_UPDATE:
    return "update";
  case KIN_EVENT_DELETE:
    return "delete";
  default:
    return "synced";
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  kin_str key = {"", 0};
  kin_str version = {"", 0};
  if (event->object != NULL) {
    key = kin_object_key(event->object);
    version = kin_object_resource_version(event->object);
  }
  call(data, event_name(event->type), key, version);
}

static void on_closed(void *data) {
  follower *f = data;
  f->client = NULL;
  if (!f->is_node_ending) {
    napi_handle_scope scope;
    napi_open_handle_scope(f->env, &scope);
    napi_delete_reference(f->env, f->on_change);
    napi_async_destroy(f->env, f->context);
    napi_close_handle_scope(f->env, scope);
  }
  napi_remove_async_cleanup_hook(f->cleanup);
  release(f);
}

/* The informer's memory goes before the client's, so get needs to know now. */
static void begin_close(follower *f) {
  f->informer = NULL;
  kin_client_close(f->client, on_closed, f); /* KIN_EALREADY is fine */
}

/* Node ends, for example by process.exit(): it waits for on_closed. */
static void on_node_ends(napi_async_cleanup_hook_handle handle, void *data) {
  follower *f = data;
  (void)handle;
  f->is_node_ending = true;
  begin_close(f);
}

static follower *self(napi_env env, napi_callback_info info, size_t *count,
                      napi_value *arguments) {
  void *data = NULL;
  napi_get_cb_info(env, info, count, arguments, NULL, &data);
  return data;
}

/* close(): ends the informer and its client. */
static napi_value close_it(napi_env env, napi_callback_info info) {
  size_t count = 0;
  follower *f = self(env, info, &count, NULL);
  if (f->client != NULL) {
    begin_close(f);
  }
  return NULL;
}

/* get(key): the cached object as a JSON string, or undefined. */
static napi_value get(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  follower *f = self(env, info, &count, &argument);
  char key[512];
  size_t length = 0;
  if (f->informer == NULL || count < 1 ||
      napi_get_value_string_utf8(env, argument, key, sizeof key, &length) !=
          napi_ok) {
    return NULL;
  }
  const kin_object *object =
      kin_store_get(kin_informer_store(f->informer), (kin_str){key, length});
  if (object == NULL) {
    return NULL;
  }
  kin_object_view *view;
  if (kin_object_view_open(&view, object) != 0) {
    return throw_error(env, "out of memory");
  }
  kin_str json = kin_object_view_json(view);
  napi_value value = text_value(env, json.data, json.length);
  kin_object_view_close(view);
  return value;
}

static int open_follower(follower *f, uv_loop_t *loop, const char *server,
                         const char *authority, const char *plural,
                         char *problem, size_t size) {
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = server;
  options.certificate_authority_file = authority[0] != '\0' ? authority : NULL;
  options.problem = problem;
  options.problem_size = size;
  int err = kin_client_open(&f->client, loop, &options);
  if (err != 0) {
    return err;
  }
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = plural;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = on_event;
  listener.on_synced = on_event;
  listener.data = f;
  err = kin_informer_follow(&f->informer, f->client, &resource, &listener);
  if (err != 0) {
    snprintf(problem, size, "%s", kin_client_problem(f->client));
    kin_client_close(f->client, NULL, NULL);
    f->client = NULL;
  }
  return err;
}

/* The option's text, or "". */
static void option(napi_env env, napi_value options, const char *name,
                   char *text, size_t size) {
  napi_value value;
  size_t length;
  text[0] = '\0';
  if (napi_get_named_property(env, options, name, &value) == napi_ok) {
    (void)napi_get_value_string_utf8(env, value, text, size, &length);
  }
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  release(data);
}

static void add_method(napi_env env, napi_value to, const char *name,
                       napi_callback method, follower *f) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, method, f, &function);
  napi_add_finalizer(env, function, f, on_collected, NULL, NULL);
  f->holders++;
  napi_set_named_property(env, to, name, function);
}

static bool is_function(napi_env env, napi_value value) {
  napi_valuetype type;
  return napi_typeof(env, value, &type) == napi_ok && type == napi_function;
}

/* follow({server, ca, plural}, onChange) */
static napi_value follow(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  char server[1024];
  char authority[1024];
  char plural[256];
  char problem[512] = "";
  uv_loop_t *loop;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count < 2 || !is_function(env, arguments[1])) {
    napi_throw_type_error(env, NULL, "follow({server, ca, plural}, onChange)");
    return NULL;
  }
  follower *f = calloc(1, sizeof *f);
  if (f == NULL) {
    return throw_error(env, "out of memory");
  }
  option(env, arguments[0], "server", server, sizeof server);
  option(env, arguments[0], "ca", authority, sizeof authority);
  option(env, arguments[0], "plural", plural, sizeof plural);
  napi_get_uv_event_loop(env, &loop);
  f->env = env;
  int err = open_follower(f, loop, server, authority, plural, problem,
                          sizeof problem);
  if (err != 0) {
    free(f);
    return throw_error(env, problem[0] != '\0' ? problem : kin_strerror(err));
  }
  f->holders = 1;
  napi_value name = text_value(env, "kinformer", NAPI_AUTO_LENGTH);
  napi_async_init(env, NULL, name, &f->context);
  napi_create_reference(env, arguments[1], 1, &f->on_change);
  napi_value result;
  napi_create_object(env, &result);
  napi_add_async_cleanup_hook(env, on_node_ends, f, &f->cleanup);
  add_method(env, result, "get", get, f);
  add_method(env, result, "close", close_it, f);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "follow", NAPI_AUTO_LENGTH, follow, NULL,
                       &function);
  napi_set_named_property(env, exports, "follow", function);
  return exports;
}
