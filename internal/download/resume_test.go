package download

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A Get that was interrupted is continued from the bytes that are safe.
func TestResume(t *testing.T) {
	body := bytesOf(5500)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		asked string // first request
	}{
		{"nothing happened", func(*testing.T, string) {}, `2000-2999?"1"`},
		{"bytes that nobody vouches for", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "f.bin.part"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Write(bytesOf(9000))
			f.Close()
		}, `2000-2999?"1"`},
		{"a part that is shorter than it was", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "f.bin.part"), 1500); err != nil {
				t.Fatal(err)
			}
		}, "0-999"},
		{"a part that is another", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "f.bin.part"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte("?"), 700)
			f.Close()
		}, "0-999"},
		{"a part that is gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "f.bin.part")) }, "0-999"},
		{"half a file on its way to its name", func(t *testing.T, dir string) {
			os.WriteFile(filepath.Join(dir, ".curtsy-1.new"), []byte("{"), 0o600)
		}, `2000-2999?"1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				s := newSite(t, content(`"1"`, body))
				dir := t.TempDir()
				opt := options(t, s, dir)
				d := datasetOf("http://d.example/f.bin")
				files, _ := Plan([]crawl.DatasetInfo{d})
				ctx, cancel := context.WithCancel(t.Context())
				stopping := opt
				n := 0
				stopping.Visit = func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
					if n++; n == 3 {
						cancel()
						return ctx.Err()
					}
					return s.visit(ctx, o, do)
				}
				if _, err := Get(ctx, files, stopping); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if got := entriesOf(t, dir); got != "f.bin.part f.bin.part.json" {
					t.Fatalf("there are %s", got)
				}
				s.take()
				c.spoil(t, dir)
				if res := get(t, opt, d); res[0].Outcome != Done || res[0].SHA256 != sumOf(body) {
					t.Fatalf("%+v", res)
				}
				if got := rangesOf(s.take()[:1]); got != c.asked {
					t.Errorf("continued with %s, want %s", got, c.asked)
				}
				checked(t, dir, 1)
				if got := entriesOf(t, dir); got != "SHA256SUMS datapackage.json f.bin" {
					t.Errorf("there are %s", got)
				}
			})
		})
	}
}

// Bytes of --max-total that were reserved for one file and not needed are available for the next.
func TestTotalIsReleased(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytesOf(2500)
		for most, want := range map[int64]Outcome{3500: Done, 3499: Limited} {
			s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/a" && r.Header.Get("Range") != "bytes=0-999" {
					http.Error(w, "", 403)
					return
				}
				content(`"1"`, body)(w, r)
			})
			opt := options(t, s, t.TempDir())
			opt.MaxTotal = most
			res := get(t, opt, datasetOf("http://d.example/a", "http://d.example/b"))
			if res[0].Outcome != Failed || res[0].Bytes != 1000 || res[1].Outcome != want {
				t.Errorf("%d bytes in all: %+v", most, res)
			}
		}
	})
}

// For each step between the last byte and the end at which a process may be killed, the next Get of
// any file completes the step without a request for that file.
func TestKilledAtTheEnd(t *testing.T) {
	body := bytesOf(500)
	for name, undo := range map[string]func(dir string){
		"no state any more": func(string) {},
		"not in the book":   func(dir string) { os.Remove(filepath.Join(dir, packageName)); os.Remove(filepath.Join(dir, sumsName)) },
		"in the sums only":  func(dir string) { os.Remove(filepath.Join(dir, packageName)) },
		"without its name": func(dir string) {
			os.Remove(filepath.Join(dir, packageName))
			os.Rename(filepath.Join(dir, "f.bin"), filepath.Join(dir, "f.bin.part"))
		},
		"not yet marked as done": func(dir string) {
			os.Remove(filepath.Join(dir, packageName))
			os.Rename(filepath.Join(dir, "f.bin"), filepath.Join(dir, "f.bin.part"))
			st, _ := readState(dir, "f.bin")
			st.Done, st.Resource = false, nil
			b, _ := json.Marshal(st)
			os.WriteFile(filepath.Join(dir, "f.bin.part.json"), b, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				s := newSite(t, content(`"1"`, body))
				dir := t.TempDir()
				opt, d := options(t, s, dir), datasetOf("http://d.example/f.bin")
				get(t, opt, d)
				p, err := readPackage(dir)
				if err != nil {
					t.Fatal(err)
				}
				st := state{URL: d.URLs[0], Final: d.URLs[0], Validator: `"1"`, Length: 500, Written: 500, SHA256: sumOf(body), Done: true, Resource: &p.Resources[0]}
				if name != "no state any more" {
					b, _ := json.Marshal(st)
					if err := os.WriteFile(filepath.Join(dir, "f.bin.part.json"), b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				undo(dir)
				s.take()
				if res := get(t, opt, d); res[0].Outcome != Had && res[0].Outcome != Done || res[0].SHA256 != sumOf(body) {
					t.Errorf("%+v", res)
				}
				if all := s.take(); len(all) != 0 {
					t.Errorf("asked for %v", all)
				}
				if got := entriesOf(t, dir); got != "SHA256SUMS datapackage.json f.bin" {
					t.Errorf("there are %s", got)
				}
				checked(t, dir, 1)
			})
		})
	}
}
