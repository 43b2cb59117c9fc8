// SPDX-License-Identifier: MIT

package clientgo

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/cache/synctrack"
	"k8s.io/klog/v2"
)

type mutationSubject struct {
	contentSubject
	cache cache.MutationCache
}

func newMutation(options []string) subject {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{"values": indexFunctions["values"]})
	mutations := cache.NewIntegerResourceVersionMutationCacheWithOptions(
		klog.Logger{}, indexer, cache.MutationCacheOptions{
			Indexer:      indexer,
			TTL:          time.Duration(option(options, "ttl")) * time.Millisecond,
			IncludeAdds:  has(options, "adds"),
			MaxCacheSize: option(options, "max"),
		})
	return mutationSubject{contentSubject{indexer}, mutations}
}

func (s mutationSubject) do(operation string, words []string) string {
	switch operation {
	case "mutation":
		s.cache.Mutation(parseObject(words[0]))
		return "ok"
	case "onput":
		s.cache.OnAddOrUpdate(parseObject(words[0]))
		return "ok"
	case "ondelete":
		s.cache.OnDelete(parseObject(words[0]))
		return "ok"
	case "get":
		item, exists, err := s.cache.GetByKey(decode(words[0]))
		if err != nil || !exists {
			return "none"
		}
		return describe(item)
	case "index":
		items, err := s.cache.ByIndex("values", decode(words[0]))
		if err != nil {
			return "error"
		}
		return sorted(describeAll(items))
	}
	return s.contentSubject.do(operation, words)
}

type heapItem struct {
	key   string
	order int
}

type heapSubject struct{ heap *cache.Heap }

func newHeap([]string) subject {
	return heapSubject{cache.NewHeap(
		func(item interface{}) (string, error) { return item.(heapItem).key, nil },
		func(a, b interface{}) bool {
			x, y := a.(heapItem), b.(heapItem)
			return x.order < y.order || (x.order == y.order && x.key < y.key)
		})}
}

func describeHeapItem(item interface{}) string {
	i := item.(heapItem)
	return fmt.Sprintf("%s:%d", encode(i.key), i.order)
}

func heapItems(words []string) []interface{} {
	var items []interface{}
	for i := 0; i+1 < len(words); i += 2 {
		items = append(items, heapItem{decode(words[i]), number(words[i+1])})
	}
	return items
}

func (s heapSubject) do(operation string, words []string) string {
	switch operation {
	case "put":
		return outcome(s.heap.Add(heapItems(words)[0]))
	case "putnew":
		return outcome(s.heap.AddIfNotPresent(heapItems(words)[0]))
	case "putall":
		return outcome(s.heap.BulkAdd(heapItems(words)))
	case "delete":
		return outcome(s.heap.Delete(heapItem{key: decode(words[0])}))
	case "pop":
		if len(s.heap.List()) == 0 && !s.heap.IsClosed() {
			return "empty"
		}
		item, err := s.heap.Pop()
		if err != nil {
			return "closed"
		}
		return describeHeapItem(item)
	case "get":
		item, exists, _ := s.heap.GetByKey(decode(words[0]))
		if !exists {
			return "none"
		}
		return describeHeapItem(item)
	case "list":
		var all []string
		for _, item := range s.heap.List() {
			all = append(all, describeHeapItem(item))
		}
		return sorted(all)
	case "keys":
		keys := s.heap.ListKeys()
		for i := range keys {
			keys[i] = encode(keys[i])
		}
		return sorted(keys)
	case "close":
		s.heap.Close()
		return "ok"
	case "closed":
		return fmt.Sprint(s.heap.IsClosed())
	}
	panic("no operation " + operation)
}

type trackSubject struct {
	set     *synctrack.AsyncTracker[string]
	counter *synctrack.SingleFileTracker
}

func newTrack([]string) subject {
	return trackSubject{synctrack.NewAsyncTracker[string]("set"),
		synctrack.NewSingleFileTracker("counter")}
}

func (s trackSubject) do(operation string, words []string) (result string) {
	defer func() {
		if recover() != nil {
			result = "error"
		}
	}()
	result = "ok"
	switch operation {
	case "start":
		s.set.Start(decode(words[0]))
	case "finish":
		s.set.Finished(decode(words[0]))
	case "upstream":
		s.set.UpstreamHasSynced()
	case "synced":
		result = fmt.Sprint(s.set.HasSynced())
	case "count":
		s.counter.Start()
	case "uncount":
		s.counter.Finished()
	case "counterupstream":
		s.counter.UpstreamHasSynced()
	case "countersynced":
		result = fmt.Sprint(s.counter.HasSynced())
	default:
		result = "no operation " + operation
	}
	return result
}

type lazySubject struct {
	lazy  *synctrack.Lazy[int32]
	value *atomic.Int32
	fails *bool
}

func newLazy([]string) subject {
	s := lazySubject{&synctrack.Lazy[int32]{}, &atomic.Int32{}, new(bool)}
	s.lazy.Evaluate = func() (int32, error) {
		n := s.value.Add(1)
		if *s.fails {
			return 0, errors.New("asked for")
		}
		return n, nil
	}
	return s
}

func (s lazySubject) do(operation string, words []string) string {
	switch operation {
	case "get":
		value, err := s.lazy.Get()
		if err != nil {
			return "error"
		}
		return fmt.Sprint(value)
	case "notify":
		s.lazy.Notify()
		return "ok"
	case "fail":
		*s.fails = words[0] == "on"
		return "ok"
	}
	panic("no operation " + operation)
}
