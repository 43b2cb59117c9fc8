// SPDX-License-Identifier: MIT

package clientgo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// An API server with one resource, as small as it can be: it lists, and
// watches from a version. ../clientgo_server.c is the same for the library.
type server struct {
	lock      sync.Mutex
	objects   map[string]*object
	history   []watch.Event // oldest first
	versions  []int         // of history
	version   int
	compacted int // watches from before this version are refused
	uids      int
	refusals  int // so many requests are answered with `refusal`
	refusal   int // an HTTP status
	open      *stream
}

func newServer() *server {
	return &server{objects: map[string]*object{}, version: 10, compacted: 10}
}

// A watch that is open.
type stream struct {
	server *server
	events chan watch.Event
}

func (w *stream) ResultChan() <-chan watch.Event { return w.events }

func (w *stream) Stop() {
	w.server.lock.Lock()
	defer w.server.lock.Unlock()
	w.end()
}

func (w *stream) end() {
	if w.server.open == w {
		w.server.open = nil
		close(w.events)
	}
}

func (s *server) send(event watch.Event) {
	if s.open != nil {
		s.open.events <- event
	}
}

// IsWatchListSemanticsUnSupported says that this server only lists.
func (s *server) IsWatchListSemanticsUnSupported() bool { return true }

func statusError(code int) *apierrors.StatusError {
	if code == 410 {
		return apierrors.NewResourceExpired("compacted")
	}
	return apierrors.NewGenericServerResponse(code, "get",
		schema.GroupResource{Resource: "things"}, "", "asked for", 0, true)
}

// Answers with an error if the script wants that.
func (s *server) refuse() error {
	if s.refusals == 0 {
		return nil
	}
	s.refusals--
	return statusError(s.refusal)
}

func (s *server) List(metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), metav1.ListOptions{})
}

func (s *server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *server) ListWithContext(context.Context, metav1.ListOptions) (
	runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.refuse(); err != nil {
		return nil, err
	}
	list := &objectList{}
	list.ResourceVersion = strconv.Itoa(s.version)
	var keys []string
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		list.Items = append(list.Items, *s.objects[key])
	}
	return list, nil
}

func (s *server) WatchWithContext(_ context.Context, options metav1.ListOptions) (
	watch.Interface, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.refuse(); err != nil {
		return nil, err
	}
	from := number(options.ResourceVersion)
	if from < s.compacted {
		return nil, statusError(410)
	}
	s.open = &stream{s, make(chan watch.Event, 4096)}
	for i, event := range s.history {
		if s.versions[i] > from {
			s.send(event)
		}
	}
	return s.open, nil
}

func (s *server) change(kind watch.EventType, o *object) {
	event := watch.Event{Type: kind, Object: o}
	s.history = append(s.history, event)
	s.versions = append(s.versions, s.version)
	s.send(event)
}

func (s *server) nextVersion() string {
	s.version++
	return strconv.Itoa(s.version)
}

// The operations that change what the server has, or how it answers; false if
// it is none.
func (s *server) do(operation string, words []string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch operation {
	case "write": // KEY VALUES: creates or modifies
		s.write(decode(words[0]), decode(words[1]))
	case "remove":
		if o := s.objects[decode(words[0])]; o != nil {
			delete(s.objects, decode(words[0]))
			last := *o
			last.ResourceVersion = s.nextVersion()
			s.change(watch.Deleted, &last)
		}
	case "event": // TYPE OBJECT: says it, whatever it has
		s.send(watch.Event{Type: watch.EventType(words[0]),
			Object: parseObject(words[1])})
	case "mark":
		o := &object{}
		o.ResourceVersion = strconv.Itoa(s.version)
		s.send(watch.Event{Type: watch.Bookmark, Object: o})
	case "compact":
		s.history, s.versions, s.compacted = nil, nil, s.version
	case "drop":
		if s.open != nil {
			s.open.end()
		}
	case "error":
		status := statusError(number(words[0])).ErrStatus
		s.send(watch.Event{Type: watch.Error, Object: &status})
		if s.open != nil {
			s.open.end()
		}
	case "refuse":
		s.refusals, s.refusal = number(words[0]), number(words[1])
	default:
		return false
	}
	return true
}

func (s *server) write(key, values string) {
	kind := watch.Modified
	o := parseObject(encode(key + "@@@" + values))
	if old := s.objects[key]; old != nil {
		o.UID = old.UID
	} else {
		kind = watch.Added
		s.uids++
		o.UID = types.UID(fmt.Sprintf("u%d", s.uids))
	}
	o.ResourceVersion = s.nextVersion()
	s.objects[key] = o
	s.change(kind, o)
}
