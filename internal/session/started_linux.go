package session

import (
	"os"
	"strconv"
	"strings"
)

// processes is the number of this namespace of processes, "0" where it is hidden.
func processes() string {
	text, err := os.Readlink("/proc/self/ns/pid")
	n := strings.Trim(text, "pid:[]")
	if err != nil || !digits(n) {
		return "0"
	}
	return n
}

// started is when a process began, in ticks since the machine did (field 22 of
// proc_pid_stat(5)); "0" where that is hidden.
func started(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "0"
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(f) < 20 {
		return "0"
	}
	return f[19]
}
