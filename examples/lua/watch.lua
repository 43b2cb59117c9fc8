-- SPDX-License-Identifier: MIT

-- Follows a resource and prints each change:
--     luajit watch.lua http://127.0.0.1:8001 pods
local uv = require("luv")
local kinformer = require("kinformer")

local objects = kinformer.follow({ server = arg[1], plural = arg[2] or "pods" },
  function(type, key, version) print(type, key, version) end)

local interrupt = uv.new_signal()
interrupt:start("sigint", function()
  interrupt:close()
  objects:close()
end)
uv.run()
