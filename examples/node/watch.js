// SPDX-License-Identifier: MIT
"use strict";

// Follows a resource and prints each change:
//     node watch.js http://127.0.0.1:8001 pods
const path = require("path");
const addon = process.env.KINFORMER_NODE || path.join(__dirname, "kinformer.node");
const { follow } = require(addon);

const [server, plural = "pods"] = process.argv.slice(2);
const objects = follow({ server, plural }, (type, key, version) => {
  console.log(type, key, version);
});
process.once("SIGINT", () => objects.close());
