// SPDX-License-Identifier: MIT
"use strict";

// Follows the pods of a server in Node, while Node serves HTTPS itself on the
// same loop, and asks itself:
//     node_host.js ADDON URL PODS CA CERTIFICATE KEY
// Ends with 0 and "20 pods, 3 updates" when every pod has been seen, some have
// changed, the cache can be read, and everything has been closed.
const assert = require("assert");
const fs = require("fs");
const https = require("https");

const [addon, server, pods, ca, certificate, key] = process.argv.slice(2);
const { follow } = require(addon);

const seen = new Set();
let updates = 0;
let answers = 0;
let isSynced = false;

const host = https.createServer(
  { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) },
  (request, response) => response.end("x".repeat(100000)));

function ask() {
  https.get({ host: "127.0.0.1", port: host.address().port,
              rejectUnauthorized: false, agent: false }, (response) => {
    let length = 0;
    response.on("data", (bytes) => { length += bytes.length; });
    response.on("end", () => {
      assert.strictEqual(length, 100000);
      answers++;
      if (isDone()) {
        finish();
      } else {
        ask();
      }
    });
  });
}

function isDone() {
  return isSynced && updates >= 3 && answers >= 20;
}

const objects = follow({ server, ca, plural: "pods" }, (type, name) => {
  if (type === "add") {
    assert(!seen.has(name));
    seen.add(name);
  }
  updates += type === "update";
  isSynced = isSynced || type === "synced";
});

function finish() {
  assert.strictEqual(seen.size, Number(pods));
  for (const name of seen) {
    const pod = JSON.parse(objects.get(name));
    assert.strictEqual(`${pod.metadata.namespace}/${pod.metadata.name}`, name);
  }
  assert.strictEqual(objects.get("no/such"), undefined);
  assert.throws(() => follow({ server: "x://y", plural: "pods" }, () => {}));
  objects.close();
  objects.close();
  host.close();
  process.on("exit", () =>
    console.log(`${seen.size} pods, ${updates} updates`));
}

host.listen(0, "127.0.0.1", ask);
