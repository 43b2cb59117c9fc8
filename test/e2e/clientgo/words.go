// SPDX-License-Identifier: MIT

// Package clientgo carries out the scripts of `./dev e2e against-client-go` on
// client-go. See ../README.md for what a script is.
package clientgo

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// A kind of script: what is held against each other, and its operations.
type subject interface {
	// do carries out one operation and says what came of it.
	do(operation string, words []string) string
}

// Something that has to be ended when its script does.
type closer interface{ close() }

func decode(word string) string {
	if word == "%" {
		return ""
	}
	text, err := url.PathUnescape(word)
	if err != nil {
		panic(fmt.Sprintf("no word: %q", word))
	}
	return text
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" +
	"._/@+-:,'()#*"

func encode(text string) string {
	if text == "" {
		return "%"
	}
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(plain, text[i]) >= 0 {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", text[i])
		}
	}
	return b.String()
}

func encodeAll(texts []string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = encode(text)
	}
	return strings.Join(words, " ")
}

// Joins words of which the order means nothing.
func sorted(words []string) string {
	slices.Sort(words)
	return strings.Join(words, " ")
}

func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// An object of a script: KEY@VERSION@UID@VALUES, and a ' for each transform.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	values     []string
	transforms int
}

func (o *object) DeepCopyObject() runtime.Object {
	copied := *o
	return &copied
}

// The list that the API server of a script answers with.
type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []object
}

func (l *objectList) DeepCopyObject() runtime.Object {
	copied := *l
	return &copied
}

func parseObject(word string) *object {
	fields := strings.Split(decode(word), "@")
	o := &object{}
	o.Name = fields[0]
	if slash := strings.IndexByte(fields[0], '/'); slash >= 0 {
		o.Namespace, o.Name = fields[0][:slash], fields[0][slash+1:]
	}
	o.ResourceVersion = fields[1]
	if len(fields) > 2 {
		o.UID = types.UID(fields[2])
	}
	if len(fields) > 3 && fields[3] != "" {
		o.values = strings.Split(fields[3], "+")
	}
	return o
}

func parseObjects(words []string) []*object {
	objects := make([]*object, len(words))
	for i, word := range words {
		objects[i] = parseObject(word)
	}
	return objects
}

func asInterfaces(objects []*object) []interface{} {
	list := make([]interface{}, len(objects))
	for i, o := range objects {
		list[i] = o
	}
	return list
}

func describe(item interface{}) string {
	switch o := item.(type) {
	case nil:
		return "-"
	case *object:
		key, _ := cache.MetaNamespaceKeyFunc(o)
		return encode(key + "@" + o.ResourceVersion + "@" + string(o.UID) + "@" +
			strings.Join(o.values, "+") + strings.Repeat("'", o.transforms))
	case cache.DeletedFinalStateUnknown:
		return "(" + encode(o.Key) + ":" + describe(o.Obj) + ")"
	}
	return fmt.Sprintf("%T", item)
}

func describeAll(items []interface{}) []string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = describe(item)
	}
	return words
}

// The transform of scripts: it fails on an object with the value "bad".
func transform(item interface{}) (interface{}, error) {
	o, ok := item.(*object)
	if !ok {
		return item, nil
	}
	if slices.Contains(o.values, "bad") {
		return nil, fmt.Errorf("bad")
	}
	copied := *o
	copied.transforms++
	return &copied, nil
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}
