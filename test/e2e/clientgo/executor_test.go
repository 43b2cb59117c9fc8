// SPDX-License-Identifier: MIT

package clientgo

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var subjects = map[string]func(options []string) subject{
	"delta":    newDelta,
	"expiring": newExpiring,
	"fifo":     newFIFO,
	"heap":     newHeap,
	"informer": newInformer,
	"inorder":  newInOrder,
	"keys":     newKeys,
	"lazy":     newLazy,
	"mutation": newMutation,
	"object":   newObjects,
	"push":     newPush,
	"selector": newSelectors,
	"store":    newStore,
	"track":    newTrack,
}

// TestExecute reads scripts from the standard input and writes what came of
// each operation, a line each, to file descriptor 3. Each script runs in a
// bubble, in which time is virtual. It is a test because only tests can make
// bubbles.
func TestExecute(t *testing.T) {
	klog.SetLogger(klog.Logger{})
	runtime.ErrorHandlers = nil     // they wait between errors
	trace := os.NewFile(3, "trace") // unbuffered, should an operation panic
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	var script []string
	for {
		line, err := input.ReadString('\n')
		if err == io.EOF {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		if line != "end" {
			script = append(script, line)
			continue
		}
		synctest.Test(t, func(*testing.T) { run(script, trace) })
		script = script[:0]
		if t.Failed() {
			return
		}
	}
}

func run(script []string, trace io.Writer) {
	head := strings.Split(script[0], " ")
	tested := subjects[head[1]](head[2:])
	fmt.Fprintln(trace, script[0])
	for _, line := range script[1:] {
		words := strings.Split(line, " ")
		fmt.Fprintln(trace, tested.do(words[0], words[1:]))
	}
	fmt.Fprintln(trace, "end")
	if c, ok := tested.(closer); ok {
		c.close()
	}
}

func has(options []string, name string) bool {
	for _, option := range options {
		if option == name {
			return true
		}
	}
	return false
}

// The number in an option NAME=NUMBER, or 0.
func option(options []string, name string) int {
	for _, option := range options {
		if text, ok := strings.CutPrefix(option, name+"="); ok {
			return number(text)
		}
	}
	return 0
}
