// SPDX-License-Identifier: MIT

// The phases of bench_work_queue.c, with client-go's work queue: the typed rate
// limiting queue that controllers use. One goroutine adds and works, so no call
// waits for a lock that another one holds, but for the queue's own goroutine
// that has the waits. Go's garbage collector is part of the CPU time.
//
// usage: workqueue [KEYS...]
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/util/workqueue"
)

type bench struct {
	count int
	keys  []string
	queue workqueue.TypedRateLimitingInterface[string]
	wall  time.Time
	cpu   int64
}

func processCPU() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func (b *bench) begin() {
	runtime.GC()
	b.wall = time.Now()
	b.cpu = processCPU()
}

func (b *bench) report(name string) {
	wall := float64(time.Since(b.wall).Nanoseconds()) / float64(b.count)
	cpu := float64(processCPU()-b.cpu) / float64(b.count)
	fmt.Printf("work_queue.%d.%s %.1f ns\n", b.count, name, wall)
	fmt.Printf("work_queue.%d.%s_cpu %.1f ns\n", b.count, name, cpu)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (b *bench) get() string {
	key, isShutDown := b.queue.Get()
	if isShutDown {
		panic("the queue is shut down")
	}
	return key
}

func (b *bench) addAll() {
	for _, key := range b.keys {
		b.queue.Add(key)
	}
}

func (b *bench) retry() {
	for range b.keys {
		key := b.get()
		b.queue.AddRateLimited(key)
		b.queue.Done(key)
	}
	for b.queue.Len() < b.count {
		time.Sleep(100 * time.Microsecond)
	}
}

func run(count int) {
	b := bench{count: count, keys: make([]string, count)}
	for i := range b.keys {
		b.keys[i] = fmt.Sprintf("space-%d/pod-%d-%08x", i%100, i,
			uint32(i)*2654435761)
	}
	b.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](
			time.Millisecond, time.Millisecond))
	empty := heap()
	b.begin()
	b.addAll()
	b.report("add")
	fmt.Printf("work_queue.%d.key %.1f bytes\n", count,
		float64(heap()-empty)/float64(count))
	b.begin()
	b.addAll()
	b.report("collapse")
	b.begin()
	for range b.keys {
		key := b.get()
		b.queue.Forget(key)
		b.queue.Done(key)
		b.queue.Add(key)
	}
	b.report("cycle")
	b.begin()
	b.retry()
	b.report("retry")
	b.begin()
	for range b.keys {
		key := b.get()
		b.queue.Forget(key)
		b.queue.Done(key)
	}
	b.report("work")
	b.queue.ShutDown()
}

func main() {
	counts := os.Args[1:]
	if len(counts) == 0 {
		counts = []string{"10000", "100000", "1000000"}
	}
	for _, text := range counts {
		count, err := strconv.Atoi(text)
		if err != nil || count <= 0 {
			fmt.Fprintln(os.Stderr, "usage: workqueue [KEYS...]")
			os.Exit(2)
		}
		run(count)
	}
}
