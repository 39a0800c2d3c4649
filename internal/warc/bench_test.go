package warc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// BenchmarkS2 measures what writing the S2 block of a page as DEFLATE costs. Prose has short
// repetitions, and rows is a table whose rows repeat at length.
func BenchmarkS2(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the harbour was quiet in the early morning and nobody had seen the boats which came from the other side of the bay " +
		"before a storm or long after it <p> </p> <em> </em>")
	var prose, rows strings.Builder
	for prose.Len() < 32<<10 {
		prose.WriteString(words[int(r.ExpFloat64()*12)%len(words)])
		prose.WriteByte(" \n"[r.IntN(12)/11])
	}
	for i := range 400 {
		fmt.Fprintf(&rows, "<tr class=\"row\"><td><a href=\"/item/%d\">Item %d</a></td><td class=\"price\">%d.00</td></tr>\n", i*7919%100_000, i, i*31%997)
	}
	for name, text := range map[string]string{"prose": prose.String(), "rows": rows.String()} {
		b.Run(name, func(b *testing.B) {
			text := []byte(text)
			block := s2.Encode(nil, text)
			var d deflater
			var out []byte
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d.reset(out[:0])
				if err := d.s2(block, text, len(text)); err != nil {
					b.Fatal(err)
				}
				out = d.finish()
			}
		})
	}
}
