package download

import "sync"

// tally adds up the progress of several calls of Get.
type tally struct {
	show func(Progress)

	mu    sync.Mutex // guards what follows
	files int
	parts map[int]Progress
	over  int
	bytes int64
}

func newTally(files int, show func(Progress)) *tally {
	return &tally{show: show, files: files, parts: map[int]Progress{}}
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
		t.over, t.bytes = t.over+p.Over-was.Over, t.bytes+p.Bytes-was.Bytes
		t.parts[i] = p
		p.Files, p.Over, p.Bytes = t.files, t.over, t.bytes
		t.show(p)
	}
}
