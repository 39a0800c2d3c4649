// Package robottest makes mobile robots for tests: one that is written in Go and does what its
// input says, and ones of a few octets that do what no compiler would make of a program.
package robottest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
)

// Robot builds the robot whose source is in testdata/robot. Its input is instructions, one a line.
func Robot(t testing.TB) []byte {
	t.Helper()
	return build(t, "github.com/curtsy/curtsy/internal/agenthost/robottest/testdata/robot")
}

// Source builds a robot from the text of one Go file.
func Source(t testing.TB, text string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, name)
}

func build(t testing.TB, what string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "robot.wasm")
	cmd := exec.Command("go", "build", "-o", out, "-ldflags=-s -w", what)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false -trimpath")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build a robot: %v\n%s", err, b)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// Module is a module of a few octets.
type Module struct {
	Imports []string // of the host (log) or of WASI (wasi.fd_write), as Call counts them
	Import  string   // a function without parameters of another module: MODULE.NAME
	Memory  uint32   // pages
	Table   uint32   // elements
	Locals  uint32   // variables of _start, i64
	Begin   []byte   // the instructions of a function that is called before _start; nil: none
	Start   []byte   // the instructions of _start, whose number is that after the imports
	More    uint32   // functions that do nothing
	Data    uint32   // zero octets that the module puts at the beginning of its memory
	Hidden  bool     // _start is not exported
}

// parameters is how many parameters the functions have that a Module can import, all i32.
var parameters = map[string]byte{
	"input": 3, "list": 4, "open": 2, "head": 2, "read": 2, "emit": 2, "log": 2,
	"wasi.fd_write": 4, "wasi.random_get": 2, "wasi.poll_oneoff": 4, "wasi.path_open": 4,
}

// Octets encodes the module.
func (m Module) Octets() []byte {
	var imports [][]byte
	for _, name := range m.Imports {
		from, function := mobile.Module, name
		if wasi, ok := strings.CutPrefix(name, "wasi."); ok {
			from, function = "wasi_snapshot_preview1", wasi
		}
		imports = append(imports, slices.Concat(text(from), text(function), []byte{0, parameters[name] - 1}))
	}
	types := [][]byte{{0x60, 0, 0}, {0x60, 2, i32, i32, 1, i32}, {0x60, 3, i32, i32, i32, 1, i32}, {0x60, 4, i32, i32, i32, i32, 1, i32}}
	if m.Import != "" {
		imports = append(imports, slices.Concat(text(m.Import), text("f"), []byte{0, 0}))
	}
	locals := []byte{0}
	if m.Locals > 0 {
		locals = slices.Concat([]byte{1}, unsigned(m.Locals), []byte{0x7e})
	}
	functions, bodies := [][]byte{{0}}, [][]byte{body(locals, m.Start)}
	if m.Begin != nil {
		functions, bodies = append(functions, []byte{0}), append(bodies, body([]byte{0}, m.Begin))
	}
	for range m.More {
		functions, bodies = append(functions, []byte{0}), append(bodies, body([]byte{0}, nil))
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, section(1, types...)...)
	b = append(b, section(2, imports...)...)
	b = append(b, section(3, functions...)...)
	if m.Table > 0 {
		b = append(b, section(4, append([]byte{0x70, 0}, unsigned(m.Table)...))...)
	}
	b = append(b, section(5, append([]byte{0}, unsigned(m.Memory)...))...)
	exports := [][]byte{append(text("memory"), 2, 0)}
	if !m.Hidden {
		exports = append(exports, append(text("_start"), 0, byte(len(imports))))
	}
	b = append(b, section(7, exports...)...)
	if m.Begin != nil {
		b = append(b, 8, 1, byte(len(imports)+1))
	}
	b = append(b, section(10, bodies...)...)
	if m.Data > 0 {
		b = append(b, section(11, slices.Concat([]byte{0}, Number(0), []byte{0x0b}, unsigned(m.Data), make([]byte, m.Data)))...)
	}
	return b
}

// body is the code of a function.
func body(locals, instructions []byte) []byte {
	b := slices.Concat(locals, instructions, []byte{0x0b})
	return append(unsigned(uint32(len(b))), b...)
}

const i32 = 0x7f

// Instructions.
var (
	Drop        = []byte{0x1a}
	Unreachable = []byte{0x00}
	Grow        = []byte{0x40, 0}       // memory.grow
	Fill        = []byte{0xfc, 0x0b, 0} // memory.fill
)

// Number pushes a constant.
func Number(n int32) []byte {
	b := []byte{0x41}
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Call calls a function with constants.
func Call(number byte, arguments ...int32) []byte {
	var b []byte
	for _, n := range arguments {
		b = append(b, Number(n)...)
	}
	return append(b, 0x10, number)
}

// Loop repeats instructions for ever.
func Loop(instructions ...byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, instructions, []byte{0x0c, 0, 0x0b})
}

// Times repeats instructions n times. It needs a module with a local variable, and is used once.
func Times(n int32, instructions ...byte) []byte {
	one := []byte{0x20, 0, 0x42, 1, 0x7c, 0x22, 0, 0x42} // the variable plus 1, and then n as i64
	return slices.Concat([]byte{0x03, 0x40}, instructions, one, Number(n)[1:], []byte{0x54, 0x0d, 0, 0x0b})
}

// Nested puts a block into a block, and so on, depth times.
func Nested(depth int) []byte {
	return append(bytes.Repeat([]byte{0x02, 0x40}, depth), bytes.Repeat([]byte{0x0b}, depth)...)
}

// Store stores a number at an address of the memory.
func Store(address, n int32) []byte {
	return slices.Concat(Number(address), Number(n), []byte{0x36, 2, 0})
}

// Expect traps unless what was pushed last is n.
func Expect(n int32) []byte {
	return slices.Concat(Number(n), []byte{0x47, 0x04, 0x40}, Unreachable, []byte{0x0b})
}

func section(id byte, entries ...[]byte) []byte {
	b := slices.Concat(append([][]byte{unsigned(uint32(len(entries)))}, entries...)...)
	return slices.Concat([]byte{id}, unsigned(uint32(len(b))), b)
}

func text(s string) []byte { return append(unsigned(uint32(len(s))), s...) }

func unsigned(n uint32) (b []byte) {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}
