// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// instant is a moment, on both clocks. CPU is the whole process's, system time
// included.
type instant struct {
	wall time.Time
	cpu  float64
}

func now() instant {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail("getrusage: %v", err)
	}
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return instant{time.Now(), cpu.Seconds()}
}

// memoryBytes returns a field of /proc/self/status.
func memoryBytes(field string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail("%v", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) == 3 && words[0] == field {
			kilobytes, err := strconv.ParseInt(words[1], 10, 64)
			if err == nil {
				return kilobytes * 1024
			}
		}
	}
	fail("/proc/self/status has no %s", field)
	return 0
}
