//go:build wasip1

// Command robot is a mobile robot for tests. Each line of its input is an instruction.
package main

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

//go:wasmimport curtsy input
func hostInput(offset int32, buf unsafe.Pointer, n int32) int32

//go:wasmimport curtsy list
func hostList(after unsafe.Pointer, afterLen int32, buf unsafe.Pointer, n int32) int32

//go:wasmimport curtsy open
func hostOpen(path unsafe.Pointer, n int32) int32

//go:wasmimport curtsy head
func hostHead(buf unsafe.Pointer, n int32) int32

//go:wasmimport curtsy read
func hostRead(buf unsafe.Pointer, n int32) int32

//go:wasmimport curtsy emit
func hostEmit(record unsafe.Pointer, n int32) int32

//go:wasmimport curtsy log
func hostLog(line unsafe.Pointer, n int32) int32

func pointer(b []byte) (unsafe.Pointer, int32) {
	return unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))
}

func emit(s string) int32 { return hostEmit(pointer([]byte(s))) }

func input() string {
	var all []byte
	buf := make([]byte, 1000)
	for {
		p, size := pointer(buf)
		n := hostInput(int32(len(all)), p, size)
		if n <= 0 {
			return string(all)
		}
		all = append(all, buf[:n]...)
	}
}

// list emits all paths below the subtree, and the code at which it ended.
func list(size int) {
	buf, after := make([]byte, size), ""
	for {
		a, alen := pointer([]byte(after))
		p, plen := pointer(buf)
		n := hostList(a, alen, p, plen)
		if n <= 0 {
			emit("end of list " + strconv.Itoa(int(n)))
			return
		}
		for path := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
			emit(path)
			after = path
		}
	}
}

func open(path string) {
	if code := hostOpen(pointer([]byte(path))); code != 0 {
		emit(path + " " + strconv.Itoa(int(code)))
		return
	}
	buf := make([]byte, 8<<10)
	text := string(buf[:max(hostHead(pointer(buf)), 0)]) + "\n"
	for {
		n := hostRead(pointer(buf))
		if n <= 0 {
			emit(path + "\n" + text)
			return
		}
		text += string(buf[:n])
	}
}

// garbage is here so that the compiler does not remove it.
var garbage []byte

func main() {
	for line := range strings.Lines(input()) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, _ := strconv.Atoi(rest)
		switch word {
		case "list":
			list(n)
		case "open":
			open(rest)
		case "only-open":
			emit(strconv.Itoa(int(hostOpen(pointer([]byte(rest))))))
		case "read":
			p, _ := pointer(make([]byte, 1))
			emit("read " + strconv.Itoa(int(hostRead(p, 1))))
		case "head":
			p, _ := pointer(make([]byte, 1))
			emit("head " + strconv.Itoa(int(hostHead(p, 1))))
		case "emit":
			emit(strings.Repeat("0123456789abcdef", n/16))
		case "emit-forever":
			for i := 0; ; i++ {
				emit(strconv.Itoa(i) + strings.Repeat(strconv.Itoa(i*i*7919), 1000))
			}
		case "garbage":
			for range n * 50 { // megabytes, of which no more than 20 kB are needed at the same time
				garbage = make([]byte, 20<<10)
			}
		case "log":
			hostLog(pointer([]byte(rest)))
		case "log-many":
			for i := range n {
				if code := hostLog(pointer([]byte(strconv.Itoa(i)))); code != 0 {
					emit("log " + strconv.Itoa(int(code)))
					return
				}
			}
		case "print":
			println(rest)
		case "sleep":
			time.Sleep(time.Hour)
		case "spin":
			for i := 0; ; i++ {
				_ = i
			}
		case "exit":
			os.Exit(n)
		case "panic":
			panic(rest)
		case "escape":
			escape()
		}
	}
}

// escape tries what a robot cannot do, and emits what it got instead.
func escape() {
	for _, name := range []string{"/etc/passwd", "/", ".", "/proc/self/environ"} {
		if _, err := os.Stat(name); err == nil {
			emit("it can see " + name)
		}
	}
	if err := os.WriteFile("/tmp/written-by-a-robot", nil, 0o600); err == nil {
		emit("it can write")
	}
	if len(os.Args) > 1 || len(os.Environ()) > 1 || len(os.Environ()) == 1 && os.Getenv("GODEBUG") == "" {
		emit("it has arguments or an environment")
	}
	if time.Now().Nanosecond() != 0 {
		emit("it has a clock")
	}
	emit("done")
}
