package usage

// Memo stores parsed statements without oddities, for the next page of a site with the same
// statement. The zero value is ready to use. Only one goroutine may use it.
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
	text        string // the stored text
}

// maxMemo is how many statements are stored; if there are more, all are parsed again.
const maxMemo = 256

// maxMemoText is the longest stored statement, in bytes.
const maxMemoText = 512

// remembered adds a statement that was parsed before, and reports whether it was.
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

// remember adds a statement that was parsed, and stores it for the next time.
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
