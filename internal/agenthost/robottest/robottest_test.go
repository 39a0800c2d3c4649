package robottest_test

import (
	"math"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/agenthost/robottest"
	"github.com/tetratelabs/wazero"
)

// TestModule: wazero accepts the modules, and a number means what was encoded.
func TestModule(t *testing.T) {
	r := wazero.NewRuntime(t.Context())
	defer r.Close(t.Context())
	for _, n := range []int32{0, 1, 63, 64, -1, -64, -65, 8191, 8192, 65536, math.MaxInt32, math.MinInt32} {
		add := []byte{0x41, 0, 0x6a} // 0 to it
		start := slices.Concat(robottest.Number(n), add, robottest.Expect(n))
		module := robottest.Module{Memory: 1, Table: 200, Start: start}.Octets()
		if _, err := r.InstantiateWithConfig(t.Context(), module, wazero.NewModuleConfig().WithName("")); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		other := robottest.Module{Start: append(robottest.Number(n), robottest.Expect(n+1)...)}.Octets()
		if _, err := r.InstantiateWithConfig(t.Context(), other, wazero.NewModuleConfig().WithName("")); err == nil {
			t.Errorf("%d is %d", n, n+1)
		}
	}
	begun := robottest.Module{Memory: 1, Begin: robottest.Unreachable, Start: []byte{}, Locals: 3, More: 200, Data: 300}.Octets()
	if m, err := r.CompileModule(t.Context(), begun); err != nil {
		t.Error(err)
	} else if _, err := r.InstantiateModule(t.Context(), m, wazero.NewModuleConfig().WithName("")); err == nil {
		t.Error("the function that is called before _start was not called")
	}
	all := robottest.Module{Imports: []string{"input", "list", "open", "head", "read", "emit", "log"}, Import: "env", Start: robottest.Loop()}.Octets()
	if m, err := r.CompileModule(t.Context(), all); err != nil || len(m.ImportedFunctions()) != 8 || len(m.ExportedFunctions()) != 1 {
		t.Errorf("%v", err)
	}
}
