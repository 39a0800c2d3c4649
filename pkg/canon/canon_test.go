package canon

import "testing"

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		raw, want string
		err       error
	}{
		{"http://example.org", "http://example.org/", nil},
		{"HTTP://EXAMPLE.org:80/%7Ea/./b/../c?b=1&a=%c3%a9#f", "http://example.org/~a/c?b=1&a=%C3%A9", nil},
		{"mailto:a@b", "", ErrScheme},
		{"http://", "", ErrHost},
		{"http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/", nil},
		{"http://0x7f.1/", "http://127.0.0.1/", nil},
		{"http://bücher.example./", "http://xn--bcher-kva.example/", nil},
	} {
		got, err := Parse(tt.raw)
		if string(got) != tt.want || err != tt.err {
			t.Errorf("Parse(%q) = %q, %v, want %q, %v", tt.raw, got, err, tt.want, tt.err)
		}
	}
}
