// SPDX-License-Identifier: MIT
"use strict";

// JavaScript keeps functions of an informer after the close:
//     node --expose-gc node_keeps.js ADDON URL
// Ends with 0 and "kept" when the functions of a closed informer that nothing
// else keeps can still be called, in each turn of the loop from the close on, and
// are collected in the end.
const assert = require("assert");

const [addon, server] = process.argv.slice(2);
const { follow } = require(addon);

for (const callback of ["x", {}, undefined, null, 1]) {
  assert.throws(() => follow({ server, plural: "pods" }, callback), TypeError);
}
assert.throws(() => follow(), TypeError);

let first = "";
// In each turn, as long as something else keeps the loop running.
function getNothing() {
  if (get) {
    assert(get(first) === undefined, "an object after the close");
    setImmediate(getNothing).unref();
  }
}

let { get, close } = follow({ server, plural: "pods" }, (type, key) => {
  first = first || key;
  if (type === "synced") {
    assert.strictEqual(JSON.parse(get(first)).kind, "Pod");
    close();
    getNothing();
  }
});

process.once("beforeExit", () => { // the loop is empty: all is closed
  global.gc();
  setImmediate(() => {
    assert.strictEqual(get(first), undefined);
    close();
    get = close = undefined;
    setImmediate(() => {
      global.gc();
      console.log("kept");
    });
  });
});
