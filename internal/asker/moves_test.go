package asker

import "testing"

func TestMoveText(t *testing.T) {
	for _, c := range []struct {
		m    Move
		want string
	}{{Move{Was: 0, Is: 1}, "new"}, {Move{Was: 1, Is: 0}, "gone"}, {Move{Was: 4, Is: 1}, "up 3"}, {Move{Was: 1, Is: 3}, "down 2"}, {Move{Was: 2, Is: 2}, "same"}} {
		if got := c.m.Text(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.m, got, c.want)
		}
	}
}
