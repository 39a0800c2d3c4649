package testaid

// Bomb is a page that is cheap to send and was expensive to read, or looks as if it could be.
type Bomb struct {
	Name string
	Body []byte
}

// text is a bomb before its text is bytes.
type text struct{ name, body string }

func bombs(all []text) []Bomb {
	out := make([]Bomb, len(all))
	for i, c := range all {
		out[i] = Bomb{c.name, []byte(c.body)}
	}
	return out
}
