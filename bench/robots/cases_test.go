package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The compared work must be the same: both libraries give the same answers in every case, and the
// files are what their names say.
func TestCasesAgree(t *testing.T) {
	for _, c := range cases() {
		if err := c.agree(); err != nil {
			t.Error(err)
		}
	}
	if n := bytes.Count(fiftyRules(), []byte("llow: ")); n != 50 {
		t.Errorf("fiftyRules has %d rules", n)
	}
	for _, size := range []int{2 << 10, 500 << 10} {
		if n := len(typical(size)); n < size-48 || n > size+48 {
			t.Errorf("typical(%d) has %d bytes", size, n)
		}
	}
}

func TestRunPrintsEveryCase(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	var out strings.Builder
	if err := run(&out, 1, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		if !strings.Contains(out.String(), c.name) {
			t.Errorf("no row for %q in:\n%s", c.name, out.String())
		}
	}
}
