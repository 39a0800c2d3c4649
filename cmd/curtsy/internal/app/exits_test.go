package app

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

func TestExitCode(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{t.Context(), errors.New("x"), 1},
		{t.Context(), Usage("x"), 2},
		{t.Context(), Exit(3, nil), 3},
		{canceled, context.Canceled, 130},
		{t.Context(), context.Canceled, 1},
	} {
		a := &App{Stderr: new(bytes.Buffer), parsed: true}
		if got := a.exitCode(tt.ctx, tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}
