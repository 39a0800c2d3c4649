package usage

// Memo keeps statements that were read, of which nothing was odd, for the next page of a site that
// says the same. The zero value works. It is for one goroutine.
type Memo struct {
	read map[memoKey]memoized
}

type memoKey struct {
	kind      byte
	statement string
}

const (
	memoUsage byte = iota
	memoSignal
)

type memoized struct {
	preferences Preferences
	text        string // as it is kept
}

// maxMemo is how many statements are kept; when there are more, all are read anew.
const maxMemo = 256

// maxMemoText bounds each, in bytes.
const maxMemoText = 512

// remembered adds a statement that was read before, and reports whether it was.
func (s *Set) remembered(at Position, kind byte, statement string) bool {
	if s.Memo == nil || len(statement) > maxMemoText {
		return false
	}
	m, ok := s.Memo.read[memoKey{kind, statement}]
	if ok && m.preferences != (Preferences{}) {
		s.state(Statement{at, m.text, m.preferences, false})
	}
	return ok
}

// remember adds a statement that was read, and keeps it for the next time.
func (s *Set) remember(at Position, kind byte, statement string, p Preferences) {
	m := memoized{p, short(statement)}
	if s.Memo != nil && len(statement) <= maxMemoText {
		if s.Memo.read == nil || len(s.Memo.read) >= maxMemo {
			s.Memo.read = make(map[memoKey]memoized, maxMemo)
		}
		s.Memo.read[memoKey{kind, statement}] = m
	}
	if p != (Preferences{}) {
		s.state(Statement{at, m.text, p, false})
	}
}
