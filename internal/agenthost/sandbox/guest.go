package sandbox

import (
	"context"
	"encoding/binary"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// guest has the functions that a robot imports. Each checks the robot's pointers, asks the parent,
// and writes the answer into the robot's memory. The robot has one thread.
type guest struct {
	out     io.Writer
	answers <-chan []byte
	input   []byte
	head    []byte // of the open document; nil: none is open
}

// instantiate makes the module of functions. All parameters and results are i32.
func (g *guest) instantiate(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(mobile.Module)
	for _, f := range []struct {
		name       string
		parameters int
		call       func(m api.Memory, a []uint32) mobile.Code
	}{
		{"input", 3, g.readInput}, {"list", 4, g.list}, {"open", 2, g.open}, {"head", 2, g.readHead}, {"read", 2, g.read}, {"emit", 2, g.emit}, {"log", 2, g.log},
	} {
		params := make([]api.ValueType, f.parameters)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		b = b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			var a [4]uint32
			for i := range f.parameters {
				a[i] = api.DecodeU32(stack[i])
			}
			code := mobile.BadArgument
			if memory := m.Memory(); memory != nil {
				code = f.call(memory, a[:f.parameters])
			}
			stack[0] = api.EncodeI32(int32(code))
		}), params, []api.ValueType{api.ValueTypeI32}).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// ask sends a question to the parent and returns its answer.
func (g *guest) ask(kind byte, a, b []byte) (mobile.Code, []byte) {
	if writeMessage(g.out, kind, a, b) != nil {
		os.Exit(0) // the parent has gone, or has ended the run
	}
	n, octets, err := number(<-g.answers)
	if err != nil {
		os.Exit(0)
	}
	return mobile.Code(int32(n)), octets
}

// fill answers with octets.
func fill(buf, octets []byte) mobile.Code {
	if len(octets) > len(buf) {
		return mobile.SmallBuffer
	}
	return mobile.Code(copy(buf, octets))
}

func (g *guest) readInput(m api.Memory, a []uint32) mobile.Code {
	buf, ok := m.Read(a[1], a[2])
	if !ok {
		return mobile.BadArgument
	}
	from := min(int64(a[0]), int64(len(g.input)))
	return mobile.Code(copy(buf, g.input[from:]))
}

func (g *guest) list(m api.Memory, a []uint32) mobile.Code {
	after, ok1 := m.Read(a[0], a[1])
	buf, ok2 := m.Read(a[2], a[3])
	if !ok1 || !ok2 || len(after) > maxPath {
		return mobile.BadArgument
	}
	code, octets := g.ask(msgList, size(buf), after)
	if code < 0 {
		return code
	}
	return fill(buf, octets)
}

func (g *guest) open(m api.Memory, a []uint32) mobile.Code {
	g.head = nil
	path, ok := m.Read(a[0], a[1])
	if !ok || len(path) > maxPath {
		return mobile.BadArgument
	}
	code, octets := g.ask(msgOpen, path, nil)
	if code < 0 {
		return code
	}
	g.head = octets
	return 0
}

func (g *guest) readHead(m api.Memory, a []uint32) mobile.Code {
	buf, ok := m.Read(a[0], a[1])
	switch {
	case !ok:
		return mobile.BadArgument
	case g.head == nil:
		return mobile.NotOpen
	}
	return fill(buf, g.head)
}

func (g *guest) read(m api.Memory, a []uint32) mobile.Code {
	buf, ok := m.Read(a[0], a[1])
	switch {
	case !ok:
		return mobile.BadArgument
	case g.head == nil:
		return mobile.NotOpen
	case len(buf) == 0:
		return 0
	}
	code, octets := g.ask(msgRead, size(buf), nil)
	if code < 0 {
		return code
	}
	return fill(buf, octets)
}

func (g *guest) emit(m api.Memory, a []uint32) mobile.Code {
	record, ok := m.Read(a[0], a[1])
	if !ok || len(record) > mobile.MaxRecord {
		return mobile.BadArgument
	}
	for len(record) > mobile.MaxPart {
		if code, _ := g.ask(msgPart, record[:mobile.MaxPart], nil); code < 0 {
			return code
		}
		record = record[mobile.MaxPart:]
	}
	code, _ := g.ask(msgRecord, record, nil)
	return code
}

func (g *guest) log(m api.Memory, a []uint32) mobile.Code {
	line, ok := m.Read(a[0], a[1])
	if !ok {
		return mobile.BadArgument
	}
	code, _ := g.ask(msgLog, line[:min(len(line), mobile.MaxLog)], nil)
	return code
}

// logLine logs what the robot wrote to its standard output. If it may log no more, the line is
// lost.
func (g *guest) logLine(line []byte) { _, _ = g.ask(msgLog, line, nil) }

// maxPath is longer than any canonical URL.
const maxPath = 8 << 10

// size is how many octets fit into a buffer, as a question has it.
func size(buf []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(min(len(buf), mobile.MaxPart)))
}
