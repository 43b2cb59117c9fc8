/* SPDX-License-Identifier: MIT */

/* Informers in Lua, on the loop of luv: in a script that runs luv's loop, and in
 * Neovim, which is such a host.
 *
 *     local follow = require("kinformer").follow
 *     local pods = follow({ server = "http://127.0.0.1:8001", plural = "pods" },
 *                         function(type, key, version) print(type, key) end)
 *     pods:get("default/web-1")  -- the object as JSON, from the cache
 *     pods:close()
 *
 * README.md beside this file says how to build it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include <lauxlib.h>
#include <lua.h>
#include <uv.h>

#include <kin/kin.h>

#define TYPE "kinformer.follower"

/* Lives until its client is closed, which may be after Lua has forgotten it. */
typedef struct follower {
  lua_State *lua; /* a thread of its own, for callbacks */
  int thread;     /* keeps the thread */
  int on_change;
  int self; /* keeps the userdata while the client is open */
  bool is_lua_ending;
  kin_client *client;
  kin_informer *informer; /* NULL: the close has begun */
} follower;

typedef uv_loop_t *(*loop_of)(lua_State *lua);

/* luv exports luv_loop. Neovim exports it to modules, too; in a script, Lua has
 * loaded luv so that only a look into its file finds the function. */
static uv_loop_t *find_loop(lua_State *lua) {
  void *symbol = dlsym(RTLD_DEFAULT, "luv_loop");
  if (symbol == NULL) {
    lua_getglobal(lua, "package");
    lua_getfield(lua, -1, "searchpath");
    lua_pushliteral(lua, "luv");
    lua_getfield(lua, -3, "cpath");
    if (lua_pcall(lua, 2, 1, 0) == 0 && lua_isstring(lua, -1)) {
      void *luv = dlopen(lua_tostring(lua, -1), RTLD_LAZY | RTLD_NOLOAD);
      symbol = luv != NULL ? dlsym(luv, "luv_loop") : NULL;
      if (luv != NULL) {
        dlclose(luv); /* Lua still holds it */
      }
    }
    lua_pop(lua, 2);
  }
  loop_of function = NULL;
  memcpy(&function, &symbol, sizeof function);
  return function != NULL ? function(lua) : NULL;
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

/* An error of the function is told; it must not jump over the library. */
static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  follower *f = data;
  if (f->is_lua_ending) {
    return;
  }
  kin_str key = {"", 0};
  kin_str version = {"", 0};
  if (event->object != NULL) {
    key = kin_object_key(event->object);
    version = kin_object_resource_version(event->object);
  }
  lua_rawgeti(f->lua, LUA_REGISTRYINDEX, f->on_change);
  lua_pushstring(f->lua, event_name(event->type));
  lua_pushlstring(f->lua, key.data, key.length);
  lua_pushlstring(f->lua, version.data, version.length);
  if (lua_pcall(f->lua, 3, 0, 0) != 0) {
    const char *text = lua_tostring(f->lua, -1);
    fprintf(stderr, "kinformer: %s\n", text != NULL ? text : "error");
    lua_pop(f->lua, 1);
  }
}

static void on_closed(void *data) {
  follower *f = data;
  if (!f->is_lua_ending) {
    lua_State *lua = f->lua;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, f->self);
    follower **held = lua_touserdata(lua, -1);
    *held = NULL;
    lua_pop(lua, 1);
    luaL_unref(lua, LUA_REGISTRYINDEX, f->self);
    luaL_unref(lua, LUA_REGISTRYINDEX, f->on_change);
    luaL_unref(lua, LUA_REGISTRYINDEX, f->thread);
  }
  free(f);
}

/* close(): ends the informer and its client. */
static int close_it(lua_State *lua) {
  follower **held = luaL_checkudata(lua, 1, TYPE);
  if (*held != NULL) {
    (*held)->informer = NULL;
    kin_client_close((*held)->client, on_closed, *held); /* or KIN_EALREADY */
  }
  return 0;
}

/* The registry keeps an open follower, so this is Lua's end. luv runs the loop
 * once more when it ends, and it ends after us. */
static int end(lua_State *lua) {
  follower **held = luaL_checkudata(lua, 1, TYPE);
  if (*held != NULL) {
    (*held)->is_lua_ending = true;
    close_it(lua);
    *held = NULL;
  }
  return 0;
}

/* get(key): the cached object as a JSON string, or nil. */
static int get(lua_State *lua) {
  follower **held = luaL_checkudata(lua, 1, TYPE);
  kin_str key;
  key.data = luaL_checklstring(lua, 2, &key.length);
  kin_informer *informer = *held != NULL ? (*held)->informer : NULL;
  const kin_object *object =
      informer != NULL ? kin_store_get(kin_informer_store(informer), key)
                       : NULL;
  if (object == NULL) {
    return 0;
  }
  kin_object_view *view;
  if (kin_object_view_open(&view, object) != 0) {
    return luaL_error(lua, "out of memory");
  }
  kin_str json = kin_object_view_json(view);
  lua_pushlstring(lua, json.data, json.length);
  kin_object_view_close(view);
  return 1;
}

/* The option's text, or NULL. The options keep it while they are on the
 * stack. */
static const char *option(lua_State *lua, const char *name) {
  lua_getfield(lua, 1, name);
  const char *text = lua_tostring(lua, -1);
  lua_pop(lua, 1);
  return text;
}

static int open_follower(follower *f, lua_State *lua, uv_loop_t *loop,
                         char *problem, size_t size) {
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = option(lua, "server");
  options.certificate_authority_file = option(lua, "ca");
  options.problem = problem;
  options.problem_size = size;
  int err = kin_client_open(&f->client, loop, &options);
  if (err != 0) {
    return err;
  }
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = option(lua, "plural");
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = on_event;
  listener.on_synced = on_event;
  listener.data = f;
  err = kin_informer_follow(&f->informer, f->client, &resource, &listener);
  if (err != 0) {
    snprintf(problem, size, "%s", kin_client_problem(f->client));
    kin_client_close(f->client, NULL, NULL);
  }
  return err;
}

/* follow({server, ca, plural}, on_change) */
static int follow(lua_State *lua) {
  char problem[512] = "";
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  uv_loop_t *loop = find_loop(lua);
  if (loop == NULL) {
    return luaL_error(lua, "no loop: call require(\"luv\") first");
  }
  follower **held = lua_newuserdata(lua, sizeof *held);
  int self = lua_gettop(lua);
  *held = NULL;
  luaL_getmetatable(lua, TYPE);
  lua_setmetatable(lua, self);
  lua_State *thread = lua_newthread(lua);
  follower *f = calloc(1, sizeof *f);
  int err = f != NULL ? open_follower(f, lua, loop, problem, sizeof problem)
                      : KIN_ENOMEM;
  if (err != 0) {
    free(f);
    return luaL_error(lua, "%s", problem[0] ? problem : kin_strerror(err));
  }
  *held = f;
  f->lua = thread;
  f->thread = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, 2);
  f->on_change = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, self);
  f->self = luaL_ref(lua, LUA_REGISTRYINDEX);
  return 1;
}

static void add(lua_State *lua, const char *name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

__attribute__((visibility("default"))) int luaopen_kinformer(lua_State *lua);

int luaopen_kinformer(lua_State *lua) {
  luaL_newmetatable(lua, TYPE);
  add(lua, "__gc", end);
  lua_newtable(lua);
  add(lua, "get", get);
  add(lua, "close", close_it);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 1);
  lua_newtable(lua);
  add(lua, "follow", follow);
  return 1;
}
