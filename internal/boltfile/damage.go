package boltfile

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Damaged is the error for a file that cannot be used as it is. It contains what to do about it.
type Damaged struct {
	Path   string
	Cause  error
	Remedy string
}

// Error names the file, the damage, and the remedy.
func (d *Damaged) Error() string {
	return fmt.Sprintf("%s is damaged (%v): %s", d.Path, d.Cause, d.Remedy)
}

// Unwrap returns what was found.
func (d *Damaged) Unwrap() error { return d.Cause }

// IsDamaged reports whether an error means that a file is damaged.
func IsDamaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}

func (f *File) damage(cause error) *Damaged {
	d := &Damaged{f.path, cause, f.remedy}
	if !f.dead.CompareAndSwap(nil, d) {
		return f.dead.Load()
	}
	close(f.died)
	return d
}

// guard runs do, and turns a panic or a fault in the mapped file into an error. If writing is set,
// the current transaction is abandoned and cannot be continued.
func (f *File) guard(writing bool, do func() error) (err error) {
	if d := f.dead.Load(); d != nil {
		return d
	}
	// The setting applies to the goroutine. Other code that runs in it should crash as usual.
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		if what := recover(); what != nil {
			if writing {
				f.stuck.Store(true)
			}
			err = f.damage(fmt.Errorf("%v, at %s", what, culprit()))
		}
	}()
	return do()
}

// culprit names the function that panicked: the first on the stack that belongs neither to the
// runtime nor to bbolt's assertions. If the cause is a defect of our code and not damage, a bug
// report needs this name.
func culprit() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		fr, more := frames.Next()
		if !strings.HasPrefix(fr.Function, "runtime.") && !strings.HasSuffix(fr.Function, "common.Assert") {
			return fr.Function[strings.LastIndexByte(fr.Function, '/')+1:]
		}
		if !more {
			return "an unknown position"
		}
	}
}
