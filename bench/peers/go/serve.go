// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kin-apisim speaks JSON. This server gets its pods and events once, keeps them
// as protobuf, whole and metadata only, and sends them from memory: the same
// objects in other bytes, framed as a real API server frames them.

const protobufType = "application/vnd.kubernetes.protobuf"

var magic = []byte{'k', '8', 's', 0}

// marshaler is what the generated types have.
type marshaler interface{ Marshal() ([]byte, error) }

func marshal(m marshaler) []byte {
	bytes, err := m.Marshal()
	if err != nil {
		fail("%v", err)
	}
	return bytes
}

// envelope is an object as it stands in a body or an event.
func envelope(apiVersion, kind string, raw []byte) []byte {
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	return append(append([]byte{}, magic...), marshal(unknown)...)
}

// form is the objects in full, or their metadata only.
type form struct {
	apiVersion, kind string
	of               func(*corev1.Pod) marshaler
	items            []byte // a list message without its metadata
	list             []byte
	events           [][]byte
}

func (f *form) addItem(pod *corev1.Pod) {
	message := marshal(f.of(pod))
	f.items = append(f.items, 2<<3|2) // field 2: items
	f.items = binary.AppendUvarint(f.items, uint64(len(message)))
	f.items = append(f.items, message...)
}

func (f *form) finishList(version string) {
	head := marshal(&metav1.ListMeta{ResourceVersion: version})
	raw := append([]byte{1<<3 | 2}, binary.AppendUvarint(nil, uint64(len(head)))...)
	raw = append(append(raw, head...), f.items...)
	f.items = nil
	f.list = envelope(f.apiVersion, f.kind+"List", raw)
}

// A frame is a length of 4 bytes, then a WatchEvent without the magic bytes,
// which only the object in it has.
func (f *form) addEvent(pod *corev1.Pod) {
	event := &metav1.WatchEvent{Type: "MODIFIED"}
	event.Object.Raw = envelope(f.apiVersion, f.kind, marshal(f.of(pod)))
	message := marshal(event)
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	f.events = append(f.events, append(frame, message...))
}

type replay struct {
	full, partial form
}

func newReplay() *replay {
	return &replay{
		full: form{apiVersion: "v1", kind: "Pod",
			of: func(pod *corev1.Pod) marshaler { return pod }},
		partial: form{apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata",
			of: func(pod *corev1.Pod) marshaler {
				return &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
			}},
	}
}

func get(url string) io.ReadCloser {
	response, err := http.Get(url)
	if err != nil {
		fail("%v", err)
	}
	if response.StatusCode != http.StatusOK {
		fail("%s: %s", url, response.Status)
	}
	return response.Body
}

func decode(d *json.Decoder, to any) {
	if err := d.Decode(to); err != nil {
		fail("%v", err)
	}
}

// readList takes one item after the other: the whole list of typed pods would
// need several times the memory of its bytes.
func (r *replay) readList(from string) string {
	body := get(from + "/api/v1/pods")
	defer body.Close()
	d := json.NewDecoder(bufio.NewReaderSize(body, 1<<20))
	var list metav1.ListMeta
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			fail("%v", err)
		}
		switch token {
		case "metadata":
			decode(d, &list)
		case "items":
			if _, err := d.Token(); err != nil {
				fail("%v", err)
			}
			for d.More() {
				pod := &corev1.Pod{}
				decode(d, pod)
				r.full.addItem(pod)
				r.partial.addItem(pod)
			}
		}
	}
	r.full.finishList(list.ResourceVersion)
	r.partial.finishList(list.ResourceVersion)
	return list.ResourceVersion
}

func (r *replay) readEvents(from, version string, events int) {
	body := get(from + "/api/v1/pods?watch=1&resourceVersion=" + version)
	defer body.Close()
	d := json.NewDecoder(bufio.NewReaderSize(body, 1<<20))
	for range events {
		event := struct {
			Type   string
			Object corev1.Pod
		}{}
		decode(d, &event)
		if event.Type != "MODIFIED" {
			fail("an event is %s", event.Type)
		}
		r.full.addEvent(&event.Object)
		r.partial.addEvent(&event.Object)
	}
}

func (r *replay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	accept := request.Header.Get("Accept")
	if request.URL.Path != "/api/v1/pods" || !strings.HasPrefix(accept, protobufType) {
		http.Error(w, "pods as protobuf only", http.StatusNotAcceptable)
		return
	}
	f := &r.full
	if strings.Contains(strings.SplitN(accept, ",", 2)[0], "as=PartialObjectMetadata") {
		f = &r.partial
	}
	watch := request.URL.Query().Get("watch")
	if watch != "1" && watch != "true" {
		w.Header().Set("Content-Type", protobufType)
		w.Write(f.list)
		return
	}
	w.Header().Set("Content-Type", protobufType+";stream=watch")
	for _, frame := range f.events {
		if _, err := w.Write(frame); err != nil {
			return
		}
	}
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	<-request.Context().Done()
}

func serve(arguments []string) {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	from := flags.String("from", "", "URL of kin-apisim --replay")
	events := flags.Int("events", 0, "number of events to take")
	flags.Parse(arguments)
	r := newReplay()
	version := r.readList(*from)
	if *events > 0 {
		r.readEvents(*from, version, *events)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("%v", err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	os.Stdout.Sync()
	fail("%v", http.Serve(listener, r))
}
