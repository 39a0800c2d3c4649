//go:build wasip1

// Command wasm is the page reader as a mobile robot: the module that pagereader embeds.
package main

import (
	"os"
	"time"
	"unsafe"

	"github.com/curtsy/curtsy/internal/mobile/pagereader/robot"
)

//go:wasmimport curtsy input
func input(offset uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy list
func list(after unsafe.Pointer, afterLen uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy open
func open(path unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy head
func head(buf unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy read
func read(buf unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy emit
func emit(record unsafe.Pointer, n uint32) int32

//go:wasmimport curtsy log
func log(line unsafe.Pointer, n uint32) int32

// host asks the host that the robot runs on.
type host struct{}

func memory(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

func (host) Input(offset int, buf []byte) int {
	p, n := memory(buf)
	return int(input(uint32(offset), p, n))
}

func (host) List(after, buf []byte) int {
	a, size := memory(after)
	p, n := memory(buf)
	return int(list(a, size, p, n))
}

func (host) Open(path []byte) int   { return int(open(memory(path))) }
func (host) Head(buf []byte) int    { return int(head(memory(buf))) }
func (host) Read(buf []byte) int    { return int(read(memory(buf))) }
func (host) Emit(record []byte) int { return int(emit(memory(record))) }
func (host) Log(line []byte)        { log(memory(line)) }

func main() {
	if err := robot.Run(host{}, time.Now()); err != nil {
		host{}.Log([]byte(err.Error()))
		os.Exit(1)
	}
}
