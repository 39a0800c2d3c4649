package ask

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// A handler that fails for some of its shards answers for the others.
func TestPartly(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		conns := connect(t, 2)
		s := service(t, conns[0], "one")
		handle(t, s, "hosts", []int{0, 1, 2}, func(ctx context.Context, req []byte, send func(any) error) error {
			if err := hosts([]int{0, 2}, 1)(ctx, req, send); err != nil {
				return err
			}
			return &PartlyError{Shards: []int{1}, Err: errors.New("its file is damaged")}
		})
		got := map[int]int{}
		err := Gather(t.Context(), conns[1], "x", "hosts", nil, 3, counting(got))
		var missing *IncompleteError
		if !errors.As(err, &missing) || !slices.Equal(missing.Missing, []int{1}) || !strings.Contains(err.Error(), "its file is damaged") {
			t.Errorf("%v, want shard 1 missing", err)
		}
		if len(got) != 2 || got[0] != 1 || got[2] != 1 {
			t.Errorf("answers %v, want those of shards 0 and 2", got)
		}
	})
}
