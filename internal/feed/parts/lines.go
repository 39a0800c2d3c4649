package parts

import "github.com/curtsy/curtsy/internal/feed"

// lines are the changes of a batch in JSON, one in a line.
func lines(b *feed.Batch) (out []byte, err error) {
	for i := range b.Changes {
		line, err := b.Changes[i].Line()
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}
