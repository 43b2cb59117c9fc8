// SPDX-License-Identifier: MIT

package clientgo

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"
)

// What the consumer of a queue has, in an order that the script gives.
type known struct {
	keys    []string
	objects map[string]*object // nil: told as a key, and absent
	failing map[string]bool    // a look-up of it fails
}

func (k *known) ListKeys() []string { return slices.Clone(k.keys) }

func (k *known) GetByKey(key string) (interface{}, bool, error) {
	if k.failing[key] {
		return nil, false, errors.New("failing")
	}
	if o := k.objects[key]; o != nil {
		return o, true, nil
	}
	return nil, false, nil
}

func (k *known) know(key, what string) {
	if !slices.Contains(k.keys, key) {
		k.keys = append(k.keys, key)
	}
	k.failing[key] = what == "!"
	k.objects[key] = nil
	if what != "!" && what != "-" {
		k.objects[key] = parseObject(what)
	}
}

func (k *known) forget(key string) {
	k.keys = slices.DeleteFunc(k.keys, func(s string) bool { return s == key })
	delete(k.objects, key)
	delete(k.failing, key)
}

type queueSubject struct {
	queue  cache.Queue
	known  *known
	fields []string // of the queue: it is empty if one of these is
}

func newKnown(options []string) (*known, cache.KeyListerGetter) {
	if !has(options, "known") {
		return nil, nil
	}
	k := &known{objects: map[string]*object{}, failing: map[string]bool{}}
	return k, k
}

func newFIFO([]string) subject {
	return queueSubject{cache.NewFIFO(cache.DeletionHandlingMetaNamespaceKeyFunc),
		nil, []string{"items", "queue"}}
}

func newDelta(options []string) subject {
	k, lister := newKnown(options)
	with := cache.DeltaFIFOOptions{
		KnownObjects:          lister,
		EmitDeltaTypeReplaced: has(options, "replaced"),
	}
	if has(options, "transform") {
		with.Transformer = transform
	}
	return queueSubject{cache.NewDeltaFIFOWithOptions(with), k, []string{"queue"}}
}

func newInOrder(options []string) subject {
	k, lister := newKnown(options)
	with := cache.RealFIFOOptions{
		KnownObjects:          lister,
		AtomicEvents:          lister == nil,
		EmitDeltaTypeBookmark: has(options, "bookmarks"),
	}
	if has(options, "transform") {
		with.Transformer = transform
	}
	return queueSubject{cache.NewRealFIFOWithOptions(with), k, []string{"items"}}
}

// A pop of an empty queue waits, so it must not be tried.
func (s queueSubject) isEmpty() bool {
	for _, field := range s.fields {
		if reflect.ValueOf(s.queue).Elem().FieldByName(field).Len() == 0 {
			return true
		}
	}
	return false
}

func (s queueSubject) do(operation string, words []string) string {
	switch operation {
	case "add":
		return outcome(s.queue.Add(parseObject(words[0])))
	case "update":
		return outcome(s.queue.Update(parseObject(words[0])))
	case "delete":
		return outcome(s.queue.Delete(parseObject(words[0])))
	case "tombstone":
		tombstone := cache.DeletedFinalStateUnknown{Key: decode(words[0])}
		if words[1] != "-" {
			tombstone.Obj = parseObject(words[1])
		}
		return outcome(s.queue.Delete(tombstone))
	case "replace":
		list := asInterfaces(parseObjects(words[1:]))
		return outcome(s.queue.Replace(list, decode(words[0])))
	case "resync":
		return outcome(s.queue.Resync())
	case "bookmark":
		if q, ok := s.queue.(cache.ReflectorBookmarkStore); ok {
			return outcome(q.Bookmark(decode(words[0])))
		}
		return "ok"
	case "pop":
		return s.pop(words[0])
	case "popbatch":
		return s.popBatch(words[0])
	case "drain":
		return s.drain()
	case "synced":
		return fmt.Sprint(s.queue.HasSynced())
	case "close":
		s.queue.Close()
		return "ok"
	case "know":
		s.known.know(decode(words[0]), words[1])
		return "ok"
	case "forget":
		s.known.forget(decode(words[0]))
		return "ok"
	}
	panic("no operation " + operation)
}

func (s queueSubject) describeDelta(d cache.Delta) string {
	switch o := d.Object.(type) {
	case cache.ReplacedAllInfo:
		return string(d.Type) + "(" + encode(o.ResourceVersion) + " " +
			strings.Join(describeAll(o.Objects), " ") + ")"
	case cache.BookmarkInfo:
		return string(d.Type) + "(" + encode(o.ResourceVersion) + ")"
	case cache.SyncAllInfo:
		return string(d.Type)
	}
	return string(d.Type) + ":" + describe(d.Object)
}

func (s queueSubject) describe(item interface{}, isInitial bool) string {
	words := []string{fmt.Sprint(isInitial)}
	if deltas, ok := item.(cache.Deltas); ok {
		for _, d := range deltas {
			words = append(words, s.describeDelta(d))
		}
	} else {
		words = append(words, describe(item))
	}
	return strings.Join(words, " ")
}

var errAsked = errors.New("asked for")

// `result`: what the callback returns, "ok" or "fail".
func (s queueSubject) pop(result string) string {
	if s.isEmpty() && !reflect.ValueOf(s.queue).Elem().FieldByName("closed").Bool() {
		return "empty"
	}
	var popped string
	_, err := s.queue.Pop(func(item interface{}, isInitial bool) error {
		popped = s.describe(item, isInitial)
		if result == "fail" {
			return errAsked
		}
		return nil
	})
	if err == cache.ErrFIFOClosed {
		return "closed"
	}
	return outcome(err) + " " + popped
}

func (s queueSubject) popBatch(result string) string {
	q, ok := s.queue.(cache.QueueWithBatch)
	if !ok {
		return s.pop(result)
	}
	if s.isEmpty() && !reflect.ValueOf(s.queue).Elem().FieldByName("closed").Bool() {
		return "empty"
	}
	var popped string
	answer := func() error {
		if result == "fail" {
			return errAsked
		}
		return nil
	}
	err := q.PopBatch(func(deltas []cache.Delta, isInitial bool) error {
		popped = "batch " + s.describe(cache.Deltas(deltas), isInitial)
		return answer()
	}, func(item interface{}, isInitial bool) error {
		popped = s.describe(item, isInitial)
		return answer()
	})
	if err == cache.ErrFIFOClosed {
		return "closed"
	}
	return outcome(err) + " " + popped
}

// Pops everything; the order is not told.
func (s queueSubject) drain() string {
	var items []string
	for !s.isEmpty() {
		items = append(items, "["+s.pop("ok")+"]")
	}
	return sorted(items)
}
