// SPDX-License-Identifier: MIT

// What an informer of client-go costs, measured as kin_bench measures one of
// kinformer: one informer of all namespaces with one handler that counts. Prints
// one JSON object. With the first argument "serve" it is the server of serve.go
// instead.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/cache"
)

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "peer-go: "+format+"\n", arguments...)
	os.Exit(1)
}

// meter is the handler. Its counters are touched by the handler's goroutine
// only, until the channels say that it is done with them.
type meter struct {
	objects, events int64 // expected
	added, updated  int64
	synced          instant
	syncPeak        int64
	finished        instant
	shown           chan struct{} // closed at synced
	done            chan struct{}
}

func (m *meter) OnAdd(any, bool) {
	m.added++
	if m.added == m.objects {
		m.synced = now()
		m.syncPeak = memoryBytes("VmHWM:")
		close(m.shown)
		if m.events == 0 {
			m.finished = m.synced
			close(m.done)
		}
	}
}

func (m *meter) OnUpdate(any, any) {
	m.updated++
	if m.updated == m.events {
		m.finished = now()
		close(m.done)
	}
}

func (m *meter) OnDelete(any) {
	fail("an object was deleted")
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve(os.Args[2:])
		return
	}
	server := flag.String("server", "", "URL")
	mode := flag.String("mode", "", "typed-protobuf, typed-json, dynamic, metadata-protobuf or metadata-json")
	resource := flag.String("resource", "pods", "PLURAL or PLURAL.VERSION.GROUP")
	objects := flag.Int64("objects", 0, "expected")
	events := flag.Int64("events", 0, "expected")
	settle := flag.Int64("settle-ms", 5000, "rest after the last event")
	timeout := flag.Int64("timeout", 900, "seconds")
	flag.Parse()
	if *server == "" || *objects < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}

	m := &meter{objects: *objects, events: *events, shown: make(chan struct{}), done: make(chan struct{})}
	informer := newInformer(*server, *mode, *resource, m.shown)
	if _, err := informer.AddEventHandler(m); err != nil {
		fail("%v", err)
	}
	// A benchmark with failures in it measures something else.
	informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		fail("%v", err)
	})
	base := memoryBytes("VmRSS:")
	started := now()
	go informer.RunWithContext(context.Background())
	select {
	case <-m.done:
	case <-time.After(time.Duration(*timeout) * time.Second):
		fail("timed out")
	}
	time.Sleep(time.Duration(*settle) * time.Millisecond)
	report(m, started, base, int64(len(informer.GetStore().ListKeys())))
}

func report(m *meter, started instant, base, stored int64) {
	steady, peak := memoryBytes("VmRSS:"), memoryBytes("VmHWM:")
	wall := m.finished.wall.Sub(m.synced.wall).Seconds()
	perEvent, rate := 0.0, 0.0
	if m.events > 0 {
		perEvent = (m.finished.cpu - m.synced.cpu) * 1e6 / float64(m.events)
		rate = float64(m.events) / wall
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"objects":          stored,
		"sync_s":           m.synced.wall.Sub(started.wall).Seconds(),
		"sync_cpu_s":       m.synced.cpu - started.cpu,
		"events":           m.events,
		"events_s":         wall,
		"events_per_s":     rate,
		"cpu_us_per_event": perEvent,
		"base_rss":         base,
		"sync_peak_rss":    m.syncPeak,
		"peak_rss":         peak,
		"steady_rss":       steady,
		"bytes_per_object": float64(steady-base) / float64(m.objects),
	})
}
