package download

import (
	"cmp"
	"sync"
)

// tally adds up the progress of several calls of Get. What is announced of datasets whose turn has
// not come is counted from the beginning.
type tally struct {
	show func(Progress)

	mu    sync.Mutex // guards what follows
	files int
	parts map[int]Progress
	over  int
	bytes int64
	left  int64
	known int // files that are over, or whose size is known
}

func newTally(sets [][]File, show func(Progress)) *tally {
	t := &tally{show: show, parts: map[int]Progress{}}
	for i, set := range sets {
		p := Progress{Files: len(set), Unknown: len(set)}
		for _, f := range set {
			if size := cmp.Or(f.About.Bytes, f.About.BytesAbout); size != nil {
				p.Left, p.Unknown = p.Left+*size, p.Unknown-1
			}
		}
		t.parts[i] = p
		t.files, t.left, t.known = t.files+p.Files, t.left+p.Left, t.known+p.Files-p.Unknown
	}
	return t
}

// of returns the Progress function for the i-th call.
func (t *tally) of(i int) func(Progress) {
	if t.show == nil {
		return nil
	}
	return func(p Progress) {
		t.mu.Lock()
		defer t.mu.Unlock()
		was := t.parts[i]
		t.over, t.bytes, t.left = t.over+p.Over-was.Over, t.bytes+p.Bytes-was.Bytes, t.left+p.Left-was.Left
		t.known += p.Files - p.Unknown - (was.Files - was.Unknown)
		t.parts[i] = p
		p.Files, p.Over, p.Bytes, p.Left, p.Unknown = t.files, t.over, t.bytes, t.left, t.files-t.known
		t.show(p)
	}
}
