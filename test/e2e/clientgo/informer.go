// SPDX-License-Identifier: MIT

package clientgo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
)

// A handler that notes by key what it is told: +OBJECT, with ! if it is
// initial, ~OLD>NEW, -OBJECT, with ? if its last state is unknown. That a
// resync came is noted once, by a = at the end.
type notes struct {
	lock    sync.Mutex
	changes map[string][]string
	resyncs map[string]bool
}

func newNotes() *notes {
	return &notes{changes: map[string][]string{}, resyncs: map[string]bool{}}
}

func (n *notes) note(item interface{}, text string) {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(item)
	n.lock.Lock()
	defer n.lock.Unlock()
	n.changes[key] = append(n.changes[key], text)
}

func (n *notes) OnAdd(item interface{}, isInitial bool) {
	mark := ""
	if isInitial {
		mark = "!"
	}
	n.note(item, "+"+describe(item)+mark)
}

func (n *notes) OnUpdate(old, item interface{}) {
	if old.(*object).ResourceVersion == item.(*object).ResourceVersion {
		key, _ := cache.MetaNamespaceKeyFunc(item)
		n.lock.Lock()
		defer n.lock.Unlock()
		n.resyncs[key] = true
		return
	}
	n.note(item, "~"+describe(old)+">"+describe(item))
}

func (n *notes) OnDelete(item interface{}) {
	if tombstone, ok := item.(cache.DeletedFinalStateUnknown); ok {
		n.note(item, "-"+describe(tombstone.Obj)+"?")
		return
	}
	n.note(item, "-"+describe(item))
}

// Takes the notes: KEY= and the changes, key by key.
func (n *notes) take() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	keys := map[string]bool{}
	for key := range n.changes {
		keys[key] = true
	}
	for key := range n.resyncs {
		keys[key] = true
	}
	var all []string
	for key := range keys {
		line := encode(key) + "|" + strings.Join(n.changes[key], "|")
		if n.resyncs[key] {
			line += "|="
		}
		all = append(all, line)
	}
	clear(n.changes)
	clear(n.resyncs)
	return sorted(all)
}

type handler struct {
	notes        *notes
	registration cache.ResourceEventHandlerRegistration
}

type informerSubject struct {
	server   *server
	informer cache.SharedIndexInformer
	handlers map[string]*handler
	cancel   context.CancelFunc
	done     chan struct{}
}

func newInformer(options []string) subject {
	s := &informerSubject{server: newServer(), handlers: map[string]*handler{},
		done: make(chan struct{})}
	s.informer = cache.NewSharedIndexInformerWithOptions(s.server, &object{},
		cache.SharedIndexInformerOptions{
			ResyncPeriod: time.Duration(option(options, "resync")) * time.Millisecond,
			Indexers:     cache.Indexers{"values": indexFunctions["values"]},
		})
	if has(options, "transform") {
		if err := s.informer.SetTransform(transform); err != nil {
			panic(err)
		}
	}
	return s
}

func (s *informerSubject) close() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

func (s *informerSubject) do(operation string, words []string) string {
	defer synctest.Wait()
	if s.server.do(operation, words) {
		return "ok"
	}
	switch operation {
	case "start":
		ctx, cancel := context.WithCancel(context.Background())
		s.cancel = cancel
		go func() {
			defer close(s.done)
			s.informer.RunWithContext(ctx)
		}()
		return "ok"
	case "run":
		time.Sleep(time.Duration(number(words[0])) * time.Millisecond)
		return "ok"
	case "join":
		return s.join(words[0], words[1:])
	case "leave", "log", "handlersynced":
		if h := s.handlers[words[0]]; h != nil {
			return s.ask(operation, words[0], h)
		}
		return "none"
	case "synced":
		return fmt.Sprint(s.informer.HasSynced())
	case "version":
		return encode(s.informer.LastSyncResourceVersion())
	case "index":
		items, err := s.informer.GetIndexer().ByIndex(words[0], decode(words[1]))
		if err != nil {
			return "error"
		}
		return sorted(describeAll(items))
	}
	return contentSubject{s.informer.GetStore()}.do(operation, words)
}

func (s *informerSubject) ask(operation, name string, h *handler) string {
	switch operation {
	case "leave":
		delete(s.handlers, name)
		return outcome(s.informer.RemoveEventHandler(h.registration))
	case "log":
		return h.notes.take()
	}
	return fmt.Sprint(h.registration.HasSynced())
}

func (s *informerSubject) join(name string, options []string) string {
	h := &handler{notes: newNotes()}
	var told cache.ResourceEventHandler = h.notes
	if has(options, "filter") {
		told = cache.FilteringResourceEventHandler{
			FilterFunc: func(item interface{}) bool {
				if tombstone, ok := item.(cache.DeletedFinalStateUnknown); ok {
					item = tombstone.Obj
				}
				return slices.Contains(item.(*object).values, "x")
			},
			Handler: told,
		}
	}
	registration, err := s.informer.AddEventHandler(told)
	h.registration = registration
	s.handlers[name] = h
	return outcome(err)
}
