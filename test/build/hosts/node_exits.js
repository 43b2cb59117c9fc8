// SPDX-License-Identifier: MIT
"use strict";

// process.exit() while an informer is open: node_exits.js ADDON URL
const [addon, server] = process.argv.slice(2);
require(addon).follow({ server, plural: "pods" }, (type) => {
  if (type === "synced") {
    process.exit(7);
  }
});
