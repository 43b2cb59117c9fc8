// SPDX-License-Identifier: MIT

package clientgo

import (
	"strings"
	"time"

	"k8s.io/client-go/tools/cache"
)

// What stores of every sort do.
type contentSubject struct{ store cache.Store }

func (s contentSubject) do(operation string, words []string) string {
	switch operation {
	case "put":
		return outcome(s.store.Add(parseObject(words[0])))
	case "delete":
		return outcome(s.store.Delete(parseObject(words[0])))
	case "deletekey":
		return outcome(s.store.Delete(cache.ExplicitKey(decode(words[0]))))
	case "replace":
		list := asInterfaces(parseObjects(words[1:]))
		return outcome(s.store.Replace(list, decode(words[0])))
	case "bookmark":
		s.store.Bookmark(decode(words[0]))
		return "ok"
	case "get":
		item, exists, err := s.store.GetByKey(decode(words[0]))
		if err != nil || !exists {
			return "none"
		}
		return describe(item)
	case "list":
		return sorted(describeAll(s.store.List()))
	case "keys":
		keys := s.store.ListKeys()
		for i := range keys {
			keys[i] = encode(keys[i])
		}
		return sorted(keys)
	case "version":
		return encode(s.store.LastStoreSyncResourceVersion())
	case "advance":
		time.Sleep(time.Duration(number(words[0])) * time.Millisecond)
		return "ok"
	}
	panic("no operation " + operation)
}

type storeSubject struct {
	contentSubject
	indexer cache.Indexer
}

func newStore(options []string) subject {
	var with []cache.StoreOption
	if has(options, "transform") {
		with = append(with, cache.WithTransformer(transform))
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}, with...)
	return storeSubject{contentSubject{indexer}, indexer}
}

// The index functions of scripts, by name.
var indexFunctions = map[string]cache.IndexFunc{
	"values": func(item interface{}) ([]string, error) {
		return item.(*object).values, nil
	},
	"name": func(item interface{}) ([]string, error) {
		return []string{item.(*object).Name}, nil
	},
	"uid": func(item interface{}) ([]string, error) {
		return []string{string(item.(*object).UID)}, nil
	},
}

func (s storeSubject) do(operation string, words []string) string {
	switch operation {
	case "addindex":
		return outcome(s.indexer.AddIndexers(
			cache.Indexers{words[0]: indexFunctions[words[0]]}))
	case "index":
		items, err := s.indexer.ByIndex(words[0], decode(words[1]))
		if err != nil {
			return "error"
		}
		return sorted(describeAll(items))
	case "indexkeys":
		keys, err := s.indexer.IndexKeys(words[0], decode(words[1]))
		if err != nil {
			return "error"
		}
		return encodeAll(keys)
	case "values":
		values := s.indexer.ListIndexFuncValues(words[0])
		for i := range values {
			values[i] = encode(values[i])
		}
		return sorted(values)
	case "like":
		items, err := s.indexer.Index(words[0], parseObject(words[1]))
		if err != nil {
			return "error"
		}
		return sorted(describeAll(items))
	case "indexes":
		var names []string
		for name := range s.indexer.GetIndexers() {
			names = append(names, name)
		}
		return sorted(names)
	case "transact":
		return s.transact(words)
	}
	return s.contentSubject.do(operation, words)
}

// Each word is put:OBJECT, delete:OBJECT or deletekey:KEY.
func (s storeSubject) transact(words []string) string {
	var transactions []cache.Transaction
	for _, word := range words {
		what, of, _ := strings.Cut(word, ":")
		switch what {
		case "put":
			transactions = append(transactions, cache.Transaction{
				Type: cache.TransactionTypeAdd, Object: parseObject(of)})
		case "delete":
			transactions = append(transactions, cache.Transaction{
				Type: cache.TransactionTypeDelete, Object: parseObject(of)})
		case "deletekey":
			transactions = append(transactions, cache.Transaction{
				Type:   cache.TransactionTypeDelete,
				Object: cache.ExplicitKey(decode(of))})
		}
	}
	err := s.indexer.(cache.TransactionStore).Transaction(transactions...)
	if err != nil {
		return "error"
	}
	return "ok"
}

func newExpiring(options []string) subject {
	ttl := time.Duration(option(options, "ttl")) * time.Millisecond
	return contentSubject{cache.NewTTLStore(cache.MetaNamespaceKeyFunc, ttl)}
}

type pushSubject struct {
	contentSubject
	pushed *[]string
}

func newPush([]string) subject {
	pushed := &[]string{}
	store := cache.NewUndeltaStore(func(items []interface{}) {
		*pushed = append(*pushed, "["+sorted(describeAll(items))+"]")
	}, cache.MetaNamespaceKeyFunc)
	return pushSubject{contentSubject{store}, pushed}
}

func (s pushSubject) do(operation string, words []string) string {
	*s.pushed = nil
	result := s.contentSubject.do(operation, words)
	return strings.TrimSpace(result + " " + strings.Join(*s.pushed, " "))
}
