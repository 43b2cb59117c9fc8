// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// calls are a kind of client: how it lists, how it watches, and what it keeps.
type calls struct {
	list    func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
	example runtime.Object
}

// callsOf is generic because each client's list has a type of its own.
func callsOf[L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error),
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error),
	example runtime.Object,
) calls {
	return calls{
		func(c context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(c, o) },
		watch,
		example,
	}
}

func parseResource(text string) schema.GroupVersionResource {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) == 3 {
		return schema.GroupVersionResource{Group: parts[2], Version: parts[1], Resource: parts[0]}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: text}
}

func typed(config *rest.Config, contentType string) calls {
	config.ContentType = contentType
	config.AcceptContentTypes = contentType
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		fail("%v", err)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	return callsOf(pods.List, pods.Watch, &corev1.Pod{})
}

func untyped(config *rest.Config, resource schema.GroupVersionResource) calls {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		fail("%v", err)
	}
	of := client.Resource(resource)
	return callsOf(of.List, of.Watch, &unstructured.Unstructured{})
}

// The metadata client asks for protobuf and takes JSON from a server that has
// nothing else.
func metadataOnly(config *rest.Config, resource schema.GroupVersionResource) calls {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		fail("%v", err)
	}
	of := client.Resource(resource)
	return callsOf(of.List, of.Watch, &metav1.PartialObjectMetadata{})
}

// newInformer makes what the generated factories make: a shared informer over
// the client's list and watch, with the index by namespace. The watch waits until
// the handler has been shown the list: a reflector would decode events meanwhile,
// whose CPU time could not be told from the list's.
func newInformer(server, mode, resource string, shown <-chan struct{}) cache.SharedIndexInformer {
	// A list and then a watch, so that all programs read the same bytes.
	os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	config := &rest.Config{Host: server, UserAgent: "peer-go", QPS: -1}
	gvr := parseResource(resource)
	var c calls
	switch mode {
	case "typed-protobuf":
		c = typed(config, "application/vnd.kubernetes.protobuf")
	case "typed-json":
		c = typed(config, "application/json")
	case "dynamic":
		c = untyped(config, gvr)
	case "metadata-protobuf", "metadata-json":
		c = metadataOnly(config, gvr)
	default:
		fail("no such mode: %q", mode)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: c.list,
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			<-shown
			return c.watch(ctx, o)
		},
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return cache.NewSharedIndexInformer(lw, c.example, 0, indexers)
}
