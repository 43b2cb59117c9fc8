// SPDX-License-Identifier: MIT

//! What a reflector of kube-rs costs, measured as kin_bench measures an informer
//! of kinformer: one watcher of all namespaces, its store, and a handler that
//! counts. Prints one JSON object.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::reflector::{self, Lookup};
use kube::runtime::watcher::{self, Event};
use kube::runtime::watcher as watch;
use kube::{Api, Client, Config};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn fail(what: impl std::fmt::Display) -> ! {
    eprintln!("peer-rust: {what}");
    std::process::exit(1);
}

/// A moment, on both clocks. CPU is the whole process's, system time included.
#[derive(Clone, Copy)]
struct Moment {
    wall: Instant,
    cpu_s: f64,
}

fn seconds(t: libc::timeval) -> f64 {
    t.tv_sec as f64 + t.tv_usec as f64 / 1e6
}

fn now() -> Moment {
    // SAFETY: getrusage fills the structure that it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &mut usage) != 0 {
            fail("getrusage");
        }
        usage
    };
    Moment {
        wall: Instant::now(),
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
    }
}

fn memory_bytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_else(|e| fail(e));
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    match number.and_then(|n| n.parse::<u64>().ok()) {
        Some(kilobytes) => kilobytes * 1024,
        None => fail(format!("/proc/self/status has no {field}")),
    }
}

struct Options {
    server: String,
    mode: String,
    resource: String,
    kind: String,
    objects: u64,
    events: u64,
    settle_ms: u64,
    timeout_s: u64,
}

fn number(name: &str, text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| fail(format!("{name}: {text} is not a number")))
}

fn parse_options() -> Options {
    let mut o = Options {
        server: String::new(),
        mode: String::new(),
        resource: "pods".into(),
        kind: "Pod".into(),
        objects: 0,
        events: 0,
        settle_ms: 5000,
        timeout_s: 900,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .unwrap_or_else(|| fail(format!("{name} needs a value")));
        match name.as_str() {
            "--server" => o.server = value,
            "--mode" => o.mode = value,
            "--resource" => o.resource = value,
            "--kind" => o.kind = value,
            "--objects" => o.objects = number(&name, &value),
            "--events" => o.events = number(&name, &value),
            "--settle-ms" => o.settle_ms = number(&name, &value),
            "--timeout" => o.timeout_s = number(&name, &value),
            _ => fail(format!("no such option: {name}")),
        }
    }
    if o.server.is_empty() || o.objects == 0 {
        fail("--server and --objects are needed");
    }
    o
}

struct Measured {
    started: Moment,
    synced: Moment,
    finished: Moment,
    base_rss: u64,
    sync_peak_rss: u64,
    steady_rss: u64,
    peak_rss: u64,
    stored: usize,
}

/// Feeds a store from the stream of a watcher until all events have come.
async fn measure<K>(
    o: &Options,
    writer: reflector::store::Writer<K>,
    stream: impl Stream<Item = watcher::Result<Event<K>>> + Send,
) -> Measured
where
    K: Lookup + Clone + Debug + Send + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let store = writer.as_reader();
    let stream = reflector::reflector(writer, stream);
    futures::pin_mut!(stream);
    let base_rss = memory_bytes("VmRSS:");
    let started = now();
    let mut synced = None;
    let mut sync_peak_rss = 0;
    let (mut objects, mut events) = (0, 0);
    let finished = loop {
        // A benchmark with failures in it measures something else.
        match stream.next().await {
            Some(Ok(Event::Init)) => {}
            Some(Ok(Event::InitApply(_))) => objects += 1,
            Some(Ok(Event::InitDone)) => {
                if objects != o.objects {
                    fail(format!("{objects} objects were listed"));
                }
                synced = Some(now());
                sync_peak_rss = memory_bytes("VmHWM:");
            }
            Some(Ok(Event::Apply(_))) => events += 1,
            Some(Ok(Event::Delete(_))) => fail("an object was deleted"),
            Some(Err(error)) => fail(error),
            None => fail("the stream ended"),
        }
        if synced.is_some() && events == o.events {
            break now();
        }
    };
    // The stream is polled on, as a program would that goes on.
    let rest = tokio::time::sleep(Duration::from_millis(o.settle_ms));
    tokio::pin!(rest);
    loop {
        tokio::select! {
            _ = &mut rest => break,
            item = stream.next() => if let Some(Err(error)) = item { fail(error) },
        }
    }
    Measured {
        started,
        synced: synced.unwrap_or(finished),
        finished,
        base_rss,
        sync_peak_rss,
        steady_rss: memory_bytes("VmRSS:"),
        peak_rss: memory_bytes("VmHWM:"),
        stored: store.len(),
    }
}

fn api_resource(o: &Options) -> ApiResource {
    let parts: Vec<&str> = o.resource.splitn(3, '.').collect();
    let (plural, version, group) = match parts[..] {
        [plural, version, group] => (plural, version, group),
        _ => (o.resource.as_str(), "v1", ""),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, &o.kind), plural)
}

async fn run(o: &Options) -> Measured {
    let uri = o.server.parse().unwrap_or_else(|_| fail("--server is no URL"));
    let client = Client::try_from(Config::new(uri)).unwrap_or_else(|e| fail(e));
    // The default: a list, then a watch.
    let config = watcher::Config::default();
    match o.mode.as_str() {
        "typed" => {
            let api: Api<Pod> = Api::all(client);
            measure(o, Default::default(), watch(api, config)).await
        }
        "dynamic" => {
            let resource = api_resource(o);
            let api: Api<DynamicObject> = Api::all_with(client, &resource);
            let writer = reflector::store::Writer::new(resource);
            measure(o, writer, watch(api, config)).await
        }
        "metadata" => {
            let api: Api<PartialObjectMeta<Pod>> = Api::all(client);
            measure(o, Default::default(), watch(api, config)).await
        }
        _ => fail(format!("no such mode: {}", o.mode)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let o = parse_options();
    let limit = Duration::from_secs(o.timeout_s);
    let m = tokio::time::timeout(limit, run(&o))
        .await
        .unwrap_or_else(|_| fail("timed out"));
    let events_s = (m.finished.wall - m.synced.wall).as_secs_f64();
    let events = o.events.max(1) as f64;
    println!(
        "{}",
        serde_json::json!({
            "objects": m.stored,
            "sync_s": (m.synced.wall - m.started.wall).as_secs_f64(),
            "sync_cpu_s": m.synced.cpu_s - m.started.cpu_s,
            "events": o.events,
            "events_s": events_s,
            "events_per_s": o.events as f64 / events_s.max(1e-9),
            "cpu_us_per_event": (m.finished.cpu_s - m.synced.cpu_s) * 1e6 / events,
            "base_rss": m.base_rss,
            "sync_peak_rss": m.sync_peak_rss,
            "peak_rss": m.peak_rss,
            "steady_rss": m.steady_rss,
            "bytes_per_object":
                (m.steady_rss as f64 - m.base_rss as f64) / o.objects as f64,
        })
    );
}
