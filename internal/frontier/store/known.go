package store

import (
	"bytes"
	"slices"
	"time"

	xxhash "github.com/cespare/xxhash/v2"
)

// maxKnown is how many bytes at the end of the log Known reads: about 120,000 lines, whose hashes
// take 1 MB. Tests reduce it.
var maxKnown int64 = 32 << 20

// knownSlack is how far the lines of a log may be out of the order of their times. Several shards
// write to one log, and the times of each are those of its event log.
const knownSlack = time.Minute

// Known reads which lines with the time since or later the log already contains. The function that
// it returns removes those from lines that are to be written; it may change its argument. So an
// owner that applies events again, because it was killed before they were committed, writes no line
// twice. Only the last part of a very long log is searched. A line farther back is written again,
// identical to the first.
func (w *CrawlLogWriter) Known(since time.Time) (without func(lines []byte) []byte, err error) {
	l, err := OpenCrawlLog(w.dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	since = since.Add(-knownSlack)
	var known []uint64
	var rest []byte // the end of a line whose beginning is in the block before
	at := l.Size - l.First
	for floor := max(at-maxKnown, 0); at > floor; {
		n := min(int64(logBlock), at-floor)
		b := make([]byte, n, int(n)+len(rest))
		if _, err := (kept{l}).ReadAt(b, at-n); err != nil {
			return nil, err
		}
		at -= n
		b = append(b, rest...)
		first := 0
		if at > 0 { // the first line may be incomplete
			first = bytes.IndexByte(b, '\n') + 1
		}
		rest = slices.Clone(b[:first])
		if len(rest) > maxLine {
			rest = nil
		}
		late := false // one of these lines may have the time since or later
		for line := range bytes.Lines(b[first:]) {
			t, ok := timeOf(line)
			if !ok || !t.Before(since) {
				known = append(known, xxhash.Sum64(line))
				late = true
			}
		}
		if !late && first < len(b) {
			break
		}
	}
	slices.Sort(known)
	return func(lines []byte) []byte {
		left := lines[:0]
		for line := range bytes.Lines(lines) {
			if _, ok := slices.BinarySearch(known, xxhash.Sum64(line)); !ok {
				left = append(left, line...)
			}
		}
		return left
	}, nil
}

// timeOf is the time of a line. Every line of ours begins with it.
func timeOf(line []byte) (time.Time, bool) {
	text, ours := bytes.CutPrefix(line, []byte(`{"time":"`))
	text, _, ended := bytes.Cut(text, []byte{'"'})
	if !ours || !ended {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t, err == nil
}
