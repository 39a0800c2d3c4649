package crawl

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSafeJSON(t *testing.T) {
	text := "a\u009b31m\u202egnp.exe\u2069\u061c żółw 中 \U0001f600"
	var b strings.Builder
	enc := json.NewEncoder(SafeJSONTo(&b))
	if err := enc.Encode(map[string]string{"t": text}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if unsafeRune(r) {
			t.Errorf("%U in %q", r, b.String())
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back["t"] != text {
		t.Errorf("%q, %v", back, err)
	}
	if !strings.Contains(b.String(), "żółw 中 \U0001f600") {
		t.Errorf("letters are escaped: %q", b.String())
	}
}
