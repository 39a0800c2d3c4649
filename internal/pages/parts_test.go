package pages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// inParts returns a document in n parts, and the page after them.
func inParts(u string, visit uint64, n int) (all []Page) {
	whole := page(u, visit, fmt.Sprint(visit))
	for i := range n {
		p := page(u, visit, fmt.Sprintf("%d/%d", visit, i+1))
		p.Kind, p.Part = crawl.KindMeta, i+1
		all = append(all, p)
	}
	whole.Kind, whole.Parts, whole.Encoding, whole.Body = crawl.KindMeta, n, crawl.EncodingParts, nil
	return append(all, whole)
}

// held returns what is stored of documents that came in parts.
func held(t *testing.T, s *Store) (all []string) {
	t.Helper()
	err := s.Datasets().EachClaimed(func(p Page) error {
		return s.Datasets().EachPart(&p, func(n int, body []byte) error {
			body, err := Unpack(nil, crawl.EncodingS2, body)
			all = append(all, fmt.Sprintf("%s %d %s", p.URL.PathQuery(), n, body))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func putParts(t *testing.T, s *Store, all ...Page) (res Result) {
	t.Helper()
	res, err := s.PutParts(all)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A document counts once all of its parts are there, in any order and however often they come.
// Until then the previous one counts.
func TestPartsCountWhenWhole(t *testing.T) {
	s := openTemp(t)
	u := "https://p.example/data.json"
	first, second, other := inParts(u, 1, 5), inParts(u, 2, 3), inParts(u+"2", 1, 1)
	putParts(t, s, other...)
	one := []string{"/data.json2 1 1/1"}
	r := rand.New(rand.NewPCG(1, 2))
	want := []string{"/data.json 1 1/1", "/data.json 2 1/2", "/data.json 3 1/3", "/data.json 4 1/4", "/data.json 5 1/5", one[0]}
	late := slices.Clone(first)
	r.Shuffle(len(first), func(i, k int) { first[i], first[k] = first[k], first[i] })
	for i, p := range first {
		if got := held(t, s); !slices.Equal(got, one) {
			t.Fatalf("with %d of 6: %q", i, got)
		}
		putParts(t, s, p, p)
	}
	if got := held(t, s); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	putParts(t, s, second[0], second[2])
	if res := putParts(t, s, late...); res.Late != len(late) {
		t.Errorf("%+v", res)
	}
	if got := held(t, s); !slices.Equal(got, want) {
		t.Errorf("with half of the next: %q", got)
	}
	again := page(u, 3, "")
	again.Renewed = true
	put(t, s, again) // the half is overtaken
	putParts(t, s, second...)
	if got := held(t, s); !slices.Equal(got, want) {
		t.Errorf("found unchanged: %q", got)
	}
	third := inParts(u, 4, 2)
	putParts(t, s, third[2], third[1])
	putParts(t, s, third[0])
	if got := held(t, s); !slices.Equal(got, []string{"/data.json 1 4/1", "/data.json 2 4/2", one[0]}) {
		t.Errorf("the next: %q", got)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	put(t, s, gone(u, 5, crawl.ReasonHTTP4xx))
	putParts(t, s, inParts("https://p.example/never", 1, 3)[:2]...) // a fetcher died
	if got := held(t, s); !slices.Equal(got, one) {
		t.Errorf("without it: %q", got)
	}
	for _, more, err := s.Forget([]string{"p.example"}, 100); more || err != nil; _, more, err = s.Forget([]string{"p.example"}, 100) {
		if err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	err := s.view(func(tx *bolt.Tx) error { left = tx.Bucket(bucketParts).Stats().KeyN; return nil })
	if got := held(t, s); len(got) != 0 || left != 0 || err != nil {
		t.Errorf("forgotten: %q and %d parts (%v)", got, left, err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
