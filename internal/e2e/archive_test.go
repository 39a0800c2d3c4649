package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc/v3"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// archived is a record as the reader below returns it.
type archived struct {
	file  string
	h     textproto.MIMEHeader
	block string
}

func (r *archived) is(kinds ...string) bool { return slices.Contains(kinds, r.h.Get("Warc-Type")) }

// readArchive reads the WARC files of a directory, written directly from the standard (ISO 28500
// §4, annex A): it shares no code with the writer. Every record must be complete, and its fields
// must be correct.
func readArchive(t *testing.T, dir string) (all []archived) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, name := range files {
		if !strings.HasSuffix(name, ".warc.gz") {
			if !strings.HasSuffix(name, ".warc.gz.cdxj") {
				t.Errorf("%s is left", name)
			}
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(name + ".cdxj")
		if err != nil {
			t.Error(err)
		}
		answers := 0
		whole := bytes.NewReader(text)
		in := bufio.NewReader(whole)
		for first := true; ; first = false {
			offset := len(text) - whole.Len() - in.Buffered()
			if _, err := in.Peek(1); err == io.EOF {
				break
			}
			z, err := gzip.NewReader(in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			z.Multistream(false)
			record, err := io.ReadAll(z)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			length := len(text) - whole.Len() - in.Buffered() - offset
			head, after, _ := strings.Cut(string(record), "\r\n\r\n")
			version, fields, _ := strings.Cut(head, "\r\n")
			h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(fields + "\r\n\r\n"))).ReadMIMEHeader()
			if err != nil || version != "WARC/1.1" {
				t.Fatalf("%s: %v, %.300q", name, err, record)
			}
			block, ended := strings.CutSuffix(after, "\r\n\r\n")
			r := archived{filepath.Base(name), h, block}
			sum := sha256.Sum256([]byte(block))
			_, dateErr := time.Parse(time.RFC3339Nano, h.Get("Warc-Date"))
			id := h.Get("Warc-Record-Id")
			switch {
			case !ended || h.Get("Content-Length") != fmt.Sprint(len(block)) || dateErr != nil || ids[id] || !strings.HasPrefix(id, "<urn:uuid:"):
				t.Errorf("%s: a record is not as the standard has it: %v", name, h)
			case first != r.is("warcinfo"), !first && h.Get("Warc-Block-Digest") != "sha256:"+hex.EncodeToString(sum[:]) && !r.hasPayload():
				t.Errorf("%s: a record that is not true, or not the first: %v", name, h)
			}
			ids[id] = true
			if all = append(all, r); r.is("response", "revisit") {
				answers++
				if want := fmt.Sprintf(`"length":"%d","offset":"%d"`, length, offset); !bytes.Contains(index, []byte(want)) {
					t.Errorf("%s: its index lacks %s", name, want)
				}
			}
			if to := h.Get("Warc-Concurrent-To"); to != "" && !ids[to] {
				t.Errorf("%s: a record of a capture that is not there: %v", name, h)
			}
		}
		if n := bytes.Count(index, []byte("\n")); n != answers {
			t.Errorf("%s has %d answers, its index %d", name, answers, n)
		}
	}
	return all
}

// hasPayload reports whether the body of a response has exactly one digest.
func (r *archived) hasPayload() bool {
	_, body, _ := strings.Cut(r.block, "\r\n\r\n")
	sum := sha256.Sum256([]byte(body))
	return r.is("response") && r.h.Get("Warc-Block-Digest") == "" && r.h.Get("Warc-Payload-Digest") == "sha256:"+hex.EncodeToString(sum[:])
}

// archiveWeb serves three sites. Pages that may not be archived contain the word quokka.
func archiveWeb(t *testing.T) *website {
	web := serve(t, simweb.Config{Seed: 21, Hosts: 3, PagesPerHost: 20, KeepSent: true, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Features: []simweb.Feature{simweb.FeatureDataYAML}}
	}})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "<title>packed</title><p>packed "+strings.Repeat("words ", 3000))
	z.Close()
	links := ""
	for path, a := range map[string]simweb.Answer{
		"packed":     {Header: []string{"Content-Encoding: gzip", "ETag: \"p\""}, Body: packed.String()},
		"gone":       {Status: 410, Body: "<p>gone</p>"},
		"moved":      {Status: 302, Header: []string{"Location: /packed"}, Body: "<p>moved</p>"},
		"picture":    {ContentType: "image/png", Body: "\x89PNG not really"},
		"noarchive":  {Body: `<meta name="robots" content="noarchive"><p>quokka</p>`},
		"noindex":    {Header: []string{"X-Robots-Tag: noindex"}, Body: "<p>quokka</p>"},
		"later":      {Header: []string{"X-Robots-Tag: unavailable_after: 2099-01-01"}, Body: "<p>quokka</p>"},
		"usage":      {Header: []string{"Content-Usage: search=n"}, Body: "<p>quokka</p>"},
		"said":       {Header: []string{"Content-Usage: train-ai=n"}, Body: "<p>not for training</p>"},
		"same":       {Body: "<p>without a validator</p>"},
		"hiddengone": {Status: 404, Header: []string{"X-Robots-Tag: noarchive"}, Body: "<p>quokka</p>"},
	} {
		web.Override("http://h0000.sim.test/"+path, &a)
		links += `<a href="/` + path + `">` + path + `</a> `
	}
	web.Override("http://h0000.sim.test/", &simweb.Answer{Body: links + `<a href="http://h0001.sim.test/">1</a> <a href="http://h0002.sim.test/">2</a>`})
	return web
}

// readByOthers reads the WARC files of a directory with an independent library, as strictly as it
// can, digests included, and returns the IDs of the records in order.
func readByOthers(t *testing.T, dir string) (ids []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		in, err := gowarc.NewWarcFileReader(name, 0, gowarc.WithStrictValidation(), gowarc.WithBlockErrorPolicy(gowarc.ErrFail))
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range in.Records() {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			odd, err := rec.WarcRecord.ValidateDigest()
			if err != nil || len(odd)+len(rec.Validation) > 0 {
				t.Errorf("%s at byte %d: %v, %v, %v", name, rec.Offset, err, odd, rec.Validation)
			}
			ids = append(ids, "<"+strings.Trim(rec.WarcRecord.RecordId(), "<>")+">")
			rec.Close()
		}
		in.Close()
	}
	return ids
}

// ISO 28500 §6: the archive has what was sent over the network, byte for byte. Each stored page has
// one response; other answers are there too, among them robots.txt and data.txt, and nothing that
// may not be kept. On re-crawl, an unchanged page becomes a revisit record, whether the site
// answers 304 or sends it again. Our reader, one written from the standard, and an independent one
// find the same records.
func TestISO28500_6_Archive(t *testing.T) { simnet.Test(t, testISO28500_6_Archive) }

func testISO28500_6_Archive(t *testing.T) {
	web := archiveWeb(t)
	dir := t.TempDir()
	spec := specFor(web)
	spec.Seeds = append(spec.Seeds, "http://h0000.sim.test/")
	spec.WARC = dir
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	st := r.wait(time.Minute)
	web.ResetLog()
	r.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMin, s.RecrawlMax = true, time.Second, time.Second })
	again := []string{"/", "/same", "/packed", "/said"}
	r.until("some pages are asked for again", func() bool {
		log := web.Log()
		return !slices.ContainsFunc(again, func(path string) bool {
			return !slices.ContainsFunc(log, func(q requestlog.Request) bool {
				return q.Host == "h0000.sim.test" && q.Path == path && !q.End.IsZero()
			})
		})
	})
	r.respec(func(s *crawl.Spec) { s.Recrawl = false })
	r.wait(time.Minute)
	r.stop()
	sent := map[string][]string{}
	for _, s := range web.Sent() {
		sent[s.URL] = append(sent[s.URL], string(s.Bytes))
	}
	responses := map[string]int{}
	metadata, first := map[string]string{}, map[string]archived{}
	kinds, profiles := map[string]int{}, map[string]int{}
	var ids []string
	for _, rec := range readArchive(t, dir) {
		uri := rec.h.Get("Warc-Target-Uri")
		kinds[rec.h.Get("Warc-Type")]++
		ids = append(ids, rec.h.Get("Warc-Record-Id"))
		_, body, _ := strings.Cut(rec.block, "\r\n\r\n")
		switch {
		case rec.is("response"):
			responses[uri]++
			first[rec.h.Get("Warc-Record-Id")] = rec
			if !slices.Contains(sent[uri], rec.block) {
				t.Errorf("%s: what is archived was not sent: %.300q", uri, rec.block)
			}
			if rec.h.Get("Warc-Ip-Address") != "127.0.0.1" || rec.h.Get("Warc-Truncated") != "" {
				t.Errorf("%v", rec.h)
			}
			if sum := sha256.Sum256([]byte(body)); rec.h.Get("Warc-Payload-Digest") != "sha256:"+hex.EncodeToString(sum[:]) {
				t.Errorf("%s: its payload has another digest", uri)
			}
		case rec.is("revisit"):
			profile := rec.h.Get("Warc-Profile")
			profiles[profile[strings.LastIndexByte(profile, '/')+1:]]++
			old, is := first[rec.h.Get("Warc-Refers-To")]
			if !is || old.h.Get("Warc-Target-Uri") != uri || old.h.Get("Warc-Date") != rec.h.Get("Warc-Refers-To-Date") ||
				old.h.Get("Warc-Payload-Digest") != rec.h.Get("Warc-Payload-Digest") {
				t.Errorf("%s refers to %v: %v", uri, old.h, rec.h)
			}
			if !slices.ContainsFunc(sent[uri], func(s string) bool { return strings.HasPrefix(s, rec.block) }) || body != "" {
				t.Errorf("%s: what is archived was not sent: %.300q", uri, rec.block)
			}
		case rec.is("request") && !strings.HasPrefix(rec.block, "GET "+strings.TrimPrefix(uri, "http://h000")[len("0.sim.test"):]+" HTTP/1.1\r\nHost: "):
			t.Errorf("%s: %q", uri, rec.block)
		case rec.is("metadata"):
			metadata[uri] = rec.block
		}
		if strings.Contains(rec.block, "<p>quokka") {
			t.Errorf("%s may not be kept: %q", uri, rec.block)
		}
	}
	from := r.files()
	stored := int64(0)
	if err := questions.Pages.Each(t.Context(), from, nil, func(p crawl.PageInfo) error {
		if stored++; (responses[p.URL] != 1 || metadata[p.URL] == "") && !strings.Contains(p.URL, "/noarchive") && !strings.Contains(p.URL, "/later") {
			t.Errorf("%s is stored, and has %d responses", p.URL, responses[p.URL])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	from.Close()
	if stored != st.Stored || stored < 40 || int64(len(metadata)) != stored-2 || kinds["response"]+kinds["revisit"] != kinds["request"] {
		t.Errorf("%d pages, %v", stored, kinds)
	}
	if profiles["server-not-modified"] == 0 || profiles["identical-payload-digest"] == 0 {
		t.Errorf("%v", profiles)
	}
	for _, u := range []string{"gone", "moved", "picture", "robots.txt", "data.txt", "packed"} {
		if responses["http://h0000.sim.test/"+u] != 1 {
			t.Errorf("%s has %d responses", u, responses["http://h0000.sim.test/"+u])
		}
	}
	if m := metadata["http://h0000.sim.test/"]; !strings.Contains(m, "outlink: http://h0000.sim.test/packed\r\n") || strings.Contains(m, "usage: ") {
		t.Errorf("%q", m)
	}
	if m := metadata["http://h0000.sim.test/said"]; !strings.Contains(m, `usage: {"search":"unknown"`) || !strings.Contains(m, `"ai-train":"disallow"`) {
		t.Errorf("%q", m)
	}
	if others := readByOthers(t, dir); !slices.Equal(others, ids) {
		t.Errorf("another reader finds %d records, and not these %d", len(others), len(ids))
	}
}
