package main

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// dearPDFs: 60 names of one domain serve a file of a few KB that takes seconds to read, and which
// is another one each time. The good site has PDF files, too.
func dearPDFs(ctx context.Context, r *Rig) (Row, error) {
	// Repeated operators compress well, twice even better.
	work := pdf(bytes.Repeat([]byte("BT /F 9 Tf 1 0 0 1 7 7 Tm (abc) Tj ET\n"), 400_000), 2)
	evil := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/robots.txt" {
			http.NotFound(w, q)
			return
		}
		if strings.HasSuffix(q.URL.Path, ".pdf") {
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = fmt.Fprintf(w, "%s%% %s%s\n", work, q.Host, q.URL.Path)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 100 {
			fmt.Fprintf(w, `<a href="/%d.pdf">file</a> `, i)
		}
	})
	good := pdf([]byte("BT /F 9 Tf 1 0 0 1 7 7 Tm (The quiet harbour) Tj ET"), 1)
	c := Crawl{
		Args: []string{"--types", "html,pdf", "--hurry", "*.dear.example"}, Evil: evil,
		Body: func(path string) (string, []byte) { return "application/pdf", fmt.Append(good, "% ", path, "\n") },
	}
	for i := range 60 {
		c.Hosts = append(c.Hosts, fmt.Sprintf("h%02d.dear.example", i))
	}
	res, err := c.Run(ctx, r)
	return res.Row(0.8), err
}

// pdf is a file of one page with these contents, compressed a number of times.
func pdf(contents []byte, times int) []byte {
	for range times {
		var b bytes.Buffer
		w, _ := zlib.NewWriterLevel(&b, zlib.BestCompression) // the level is valid
		_, _ = w.Write(contents)                              // a buffer takes everything
		_ = w.Close()
		contents = b.Bytes()
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(at))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Count 1/Kids[3 0 R]>>")
	object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>")
	object("<</Length %d/Filter[%s]>>stream\n%s\nendstream", len(contents), strings.Repeat("/FlateDecode ", times), contents)
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}
