// SPDX-License-Identifier: MIT

package clientgo

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

type keysSubject struct{}

func newKeys([]string) subject { return keysSubject{} }

func (keysSubject) do(operation string, words []string) string {
	switch operation {
	case "split":
		namespace, name, err := cache.SplitMetaNamespaceKey(decode(words[0]))
		if err != nil {
			return "error"
		}
		return encode(namespace) + " " + encode(name)
	case "make":
		return encode(cache.NewObjectName(decode(words[0]), decode(words[1])).String())
	}
	panic("no operation " + operation)
}

type selectorsSubject struct{ selector labels.Selector }

func newSelectors([]string) subject {
	return &selectorsSubject{labels.Everything()}
}

// After a text that is refused the selector before stays.
func (s *selectorsSubject) do(operation string, words []string) string {
	switch operation {
	case "parse":
		selector, err := labels.Parse(decode(words[0]))
		if err != nil {
			return "error"
		}
		s.selector = selector
		return "ok"
	case "reparse": // in its canonical form
		selector, err := labels.Parse(s.selector.String())
		if err != nil {
			return "error"
		}
		s.selector = selector
		return "ok"
	case "nothing":
		s.selector = labels.Nothing()
		return "ok"
	case "everything":
		return fmt.Sprint(s.selector.Empty())
	case "match":
		set := labels.Set{}
		for _, word := range words {
			key, value, _ := strings.Cut(word, "=")
			set[decode(key)] = decode(value)
		}
		return fmt.Sprint(s.selector.Matches(set))
	}
	panic("no operation " + operation)
}

type objectsSubject struct{}

func newObjects([]string) subject { return objectsSubject{} }

// An object as the dynamic client reads it, and the labels that are asked for.
func (objectsSubject) do(operation string, words []string) string {
	if operation != "object" {
		panic("no operation " + operation)
	}
	decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme,
		[]byte(decode(words[0])))
	if err != nil {
		return "error"
	}
	o := decoded.(metav1.Object)
	said := []string{encode(o.GetNamespace()), encode(o.GetName()),
		encode(string(o.GetUID())), encode(o.GetResourceVersion())}
	for _, key := range words[1:] {
		if value, ok := o.GetLabels()[decode(key)]; ok {
			said = append(said, key+"="+encode(value))
		}
	}
	return strings.Join(said, " ")
}
