// SPDX-License-Identifier: MIT

// What the informer of the JavaScript client costs, measured as kin_bench
// measures one of kinformer: one informer of all namespaces with one handler
// that counts. Prints one JSON object.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer,
} from '@kubernetes/client-node';

function fail(what) {
  console.error(`peer-js: ${what}`);
  process.exit(1);
}

// A moment, on both clocks. CPU is the whole process's, system time included.
function now() {
  const cpu = process.cpuUsage();
  return { wall: performance.now() / 1e3, cpu: (cpu.user + cpu.system) / 1e6 };
}

function memoryBytes(field) {
  const status = readFileSync('/proc/self/status', 'utf8');
  const found = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status);
  return found ? Number(found[1]) * 1024 : fail(`no ${field}`);
}

const { values: o } = parseArgs({
  options: {
    server: { type: 'string' },
    mode: { type: 'string' }, // typed or dynamic
    resource: { type: 'string', default: 'pods' },
    objects: { type: 'string' },
    events: { type: 'string', default: '0' },
    'settle-ms': { type: 'string', default: '5000' },
    timeout: { type: 'string', default: '900' },
  },
});
const expected = { objects: Number(o.objects), events: Number(o.events) };

const config = new KubeConfig();
// Without skipTLSVerify the client refuses plain HTTP.
config.loadFromClusterAndUser(
  { name: 'peer', server: o.server, skipTLSVerify: true }, { name: 'peer' });

// The informer of pods, as the client's own examples make one, or of a custom
// resource, PLURAL.VERSION.GROUP.
function informerOf() {
  if (o.mode === 'typed') {
    const core = config.makeApiClient(CoreV1Api);
    return makeInformer(config, '/api/v1/pods',
      () => core.listPodForAllNamespaces());
  }
  const [plural, version, ...group] = o.resource.split('.');
  const custom = config.makeApiClient(CustomObjectsApi);
  return makeInformer(config, `/apis/${group.join('.')}/${version}/${plural}`,
    () => custom.listClusterCustomObject(
      { group: group.join('.'), version, plural }));
}

const informer = informerOf();
let added = 0;
let updated = 0;
let synced;
let syncPeak;

function finish(finished) {
  setTimeout(() => {
    const steady = memoryBytes('VmRSS');
    const events = Math.max(expected.events, 1);
    const wall = Math.max(finished.wall - synced.wall, 1e-9);
    console.log(JSON.stringify({
      objects: informer.list().length,
      sync_s: synced.wall - started.wall,
      sync_cpu_s: synced.cpu - started.cpu,
      events: expected.events,
      events_s: wall,
      events_per_s: expected.events / wall,
      cpu_us_per_event: (finished.cpu - synced.cpu) * 1e6 / events,
      base_rss: base,
      sync_peak_rss: syncPeak,
      peak_rss: memoryBytes('VmHWM'),
      steady_rss: steady,
      bytes_per_object: (steady - base) / expected.objects,
    }));
    process.exit(0);
  }, Number(o['settle-ms']));
}

informer.on('add', () => {
  added++;
  if (added === expected.objects) {
    synced = now();
    syncPeak = memoryBytes('VmHWM');
    if (expected.events === 0) {
      finish(synced);
    }
  }
});
informer.on('update', () => {
  updated++;
  if (updated === expected.events) {
    finish(now());
  }
});
informer.on('delete', () => fail('an object was deleted'));
// A benchmark with failures in it measures something else.
informer.on('error', (error) => fail(error?.message ?? error));
setTimeout(() => fail('timed out'), Number(o.timeout) * 1e3).unref();

const base = memoryBytes('VmRSS');
const started = now();
await informer.start();
