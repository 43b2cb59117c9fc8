-- SPDX-License-Identifier: MIT

-- Follows the pods of a server in Lua, beside a timer and a TCP server of luv on
-- the same loop:
--     KIN_HOST="MODULE URL PODS" luajit lua_host.lua
--     KIN_HOST="MODULE URL PODS" nvim --headless -u NONE -c "luafile lua_host.lua"
-- Ends with 0 and "20 pods, 3 updates" when every pod has been seen, some have
-- changed, the cache can be read, and everything has been closed.
-- KIN_HOST_END=open: ends while the informer is open, with status 7.
local uv = vim and (vim.uv or vim.loop) or require("luv")
local module, server, pods = os.getenv("KIN_HOST"):match("(%S+) (%S+) (%d+)")
local ends_open = os.getenv("KIN_HOST_END") == "open"
local kinformer = assert(package.loadlib(module, "luaopen_kinformer"))()

-- Neovim's loop runs until Neovim is told to end; a script's, until it is empty.
local exit_status = 0
local function quit(status)
  if vim then
    vim.schedule(function()
      vim.cmd(status == 0 and "qall!" or status .. "cquit!")
    end)
  elseif status ~= 0 then
    exit_status = status
    uv.stop()
  end
end

-- An assertion that fails ends the host. Nothing is called after the end.
local is_finished = false
local function guarded(body)
  return function(...)
    if is_finished then
      return
    end
    local ok, message = xpcall(body, debug.traceback, ...)
    if not ok then
      io.stderr:write(message, "\n")
      os.exit(1)
    end
  end
end

local seen, count, updates, ticks, echoes = {}, 0, 0, 0, 0
local is_synced = false
local timer = uv.new_timer()
local echo = uv.new_tcp()
local objects
local clients = {} -- of the TCP server, and its own ends

-- In each turn of the loop after close(), in which the informer and then the
-- client end. 100 turns are more than that takes.
local function get_nothing()
  local check, turns = uv.new_check(), 0
  check:unref()
  check:start(function()
    turns = turns + 1
    for key in pairs(seen) do
      if objects:get(key) ~= nil then
        io.stderr:write("get after close: ", key, "\n")
        os.exit(1)
      end
    end
    if turns == 100 then
      check:close()
    end
  end)
end

local function finish()
  is_finished = true
  assert(count == tonumber(pods), count)
  for key in pairs(seen) do
    local namespace, name = key:match("(.*)/(.*)")
    local json = objects:get(key)
    assert(json:find('"namespace":"' .. namespace .. '"', 1, true), json)
    assert(json:find('"name":"' .. name .. '"', 1, true), json)
  end
  assert(objects:get("no/such") == nil)
  assert(not pcall(kinformer.follow, { server = "x://y", plural = "pods" },
    function() end))
  objects:close()
  objects:close()
  for key in pairs(seen) do
    assert(objects:get(key) == nil)
  end
  get_nothing()
  timer:close()
  echo:close()
  for client in pairs(clients) do
    client:close()
  end
  io.stdout:write(count, " pods, ", updates, " updates\n")
  io.stdout:flush()
end

local on_change = guarded(function(type, key, version)
  if type == "add" then
    assert(not seen[key] and #version > 0)
    seen[key] = true
    count = count + 1
  end
  updates = updates + (type == "update" and 1 or 0)
  is_synced = is_synced or type == "synced"
  if is_synced and ends_open then
    is_finished = true
    quit(7)
  end
end)

-- One connection after the other to a server of this host.
local function ask()
  local client = uv.new_tcp()
  clients[client] = true
  client:connect("127.0.0.1", echo:getsockname().port, guarded(function(err)
    assert(not err, err)
    client:write("hello")
    client:read_start(guarded(function(failed, bytes)
      assert(not failed, failed)
      client:close()
      clients[client] = nil
      assert(bytes == "hello")
      echoes = echoes + 1
      ask()
    end))
  end))
end

echo:bind("127.0.0.1", 0)
echo:listen(16, guarded(function(err)
  assert(not err, err)
  local peer = uv.new_tcp()
  clients[peer] = true
  echo:accept(peer)
  peer:read_start(guarded(function(_, bytes)
    if bytes then
      peer:write(bytes)
    else
      peer:close()
      clients[peer] = nil
    end
  end))
end))
ask()

-- In a coroutine that ends: the informer must not need it later.
coroutine.wrap(function()
  objects = kinformer.follow({ server = server, plural = "pods" }, on_change)
end)()

timer:start(0, 10, guarded(function()
  collectgarbage()
  ticks = ticks + 1
  assert(ticks < 3000, "no end after 30 s")
  if is_synced and updates >= 3 and echoes >= 20 then
    finish()
    quit(0)
  end
end))

if not vim then
  uv.run()
  assert(is_finished)
  os.exit(exit_status, true)
end
