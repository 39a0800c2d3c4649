package crawl

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

var update = flag.Bool("update", false, "add golden messages of kinds that have none")

// golden is a message as an earlier version encoded it, with what was encoded.
type golden struct {
	Kind  string
	Bytes []byte
	Value json.RawMessage
}

const goldenFile = "testdata/golden.json"

// kinds is how to encode and decode each message that crosses the wire or is stored by itself.
var kinds = map[string]interface {
	random(*rand.Rand) (value any, encoded []byte)
	decode([]byte) (any, error)
	encode(any) []byte
}{
	"take":    kind[VisitRequest]{AppendVisitRequest, DecodeVisitRequest},
	"grants":  kind[Grants]{AppendGrants, DecodeGrants},
	"renew":   kind[Renew]{AppendRenew, DecodeRenew},
	"renewed": kind[Renewed]{AppendRenewed, DecodeRenewed},
	"errand":  kind[AuxRequest]{AppendAuxRequest, DecodeAuxRequest},
	"trace":   kind[Trace]{func(b []byte, t Trace) []byte { return AppendTrace(b, &t) }, DecodeTrace},
	"event":   kind[Event]{func(b []byte, ev Event) []byte { return AppendEvent(b, &ev) }, DecodeEvent},
	"pages":   kind[[]Page]{AppendPages, DecodePages},

	"dispatch query": kind[DispatchQuery]{AppendDispatchQuery, DecodeDispatchQuery},
	"dispatch plan":  kind[DispatchPlan]{AppendDispatchPlan, DecodeDispatchPlan},
}

type kind[T any] struct {
	append func([]byte, T) []byte
	parse  func([]byte) (T, error)
}

func (k kind[T]) random(r *rand.Rand) (any, []byte) {
	var v T
	fill(r, reflect.ValueOf(&v).Elem())
	return v, k.append(nil, v)
}
func (k kind[T]) decode(b []byte) (any, error) { return k.parse(b) }
func (k kind[T]) encode(v any) []byte          { return k.append(nil, v.(T)) }

// fill sets about two of three fields to something that the wire can carry.
func fill(r *rand.Rand, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.UnixMilli(r.Int64N(1 << 42)).UTC()
		return
	case *canon.Origin:
		*p = canon.Origin{Scheme: "https", Host: canon.Host(word(r) + ".example"), Port: 1 + r.IntN(65535)}
		return
	case *usage.Preferences:
		*p = usage.PreferencesOf(uint8(r.Uint32()))
		return
	case *Field: // a reader leaves others out
		*p = Field{Name: word(r), Type: FieldType(r.IntN(int(FieldBoolean) + 1)), Many: r.IntN(2) > 0, Values: []string{word(r)}}
		return
	case *VisitID:
		*p = VisitID{r.Uint64() >> r.IntN(64), 1 + r.Uint64()>>r.IntN(64)}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if r.IntN(3) > 0 {
				fill(r, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.String:
		v.SetString(word(r))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(r.Uint64N(256))
	case reflect.Uint32:
		v.SetUint(uint64(r.Uint32()))
	case reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Int64: // durations, too
		v.SetInt(r.Int64() >> r.IntN(63))
	case reflect.Int:
		v.SetInt(r.Int64N(1<<31) >> r.IntN(31))
	default:
		panic(v.Type())
	}
}

func word(r *rand.Rand) string {
	return strings.Repeat("aé-0z", 1+r.IntN(4))[r.IntN(2)*3:]
}

// What an earlier version has written is read as it was meant, and is written in the same bytes
// today. The messages in the file were written by commit bd0a445.
func TestGolden(t *testing.T) {
	b, err := os.ReadFile(goldenFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(b, &all); err != nil && !*update {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, g := range all {
		seen[g.Kind]++
		k := kinds[g.Kind]
		got, err := k.decode(g.Bytes)
		if err != nil {
			t.Fatalf("%d, %s: %v", i, g.Kind, err)
		}
		want := reflect.New(reflect.TypeOf(got))
		if err := json.Unmarshal(g.Value, want.Interface()); err != nil {
			t.Fatalf("%d, %s: %v", i, g.Kind, err)
		}
		if !reflect.DeepEqual(utc(t, got), want.Elem().Interface()) {
			t.Errorf("%d, %s: decoded\n%+v, want\n%+v", i, g.Kind, got, want.Elem())
		}
		if again := k.encode(got); !bytes.Equal(again, g.Bytes) {
			t.Errorf("%d, %s: encoded\n%x, want\n%x", i, g.Kind, again, g.Bytes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		if seen[name] > 0 {
			continue
		}
		if !*update {
			t.Errorf("no %s is golden: go test -run TestGolden -update", name)
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		for range 4 {
			v, b := k.random(r)
			value, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, golden{name, b, value})
		}
	}
	if *update {
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.ReplaceAll(b, []byte(`{"Kind"`), []byte("\n{\"Kind\""))
		if err := os.WriteFile(goldenFile, append(b, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// utc returns v with its times in UTC, by way of JSON.
func utc(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := reflect.New(reflect.TypeOf(v))
	if err := json.Unmarshal(b, out.Interface()); err != nil {
		t.Fatal(err)
	}
	return out.Elem().Interface()
}

// Whatever can be sent arrives as it was.
func TestRandomMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, k := range kinds {
		for range 300 {
			v, b := k.random(r)
			got, err := k.decode(b)
			if err != nil || !reflect.DeepEqual(utc(t, got), utc(t, v)) {
				t.Fatalf("%s: decoded\n%+v (%v), want\n%+v", name, got, err, v)
			}
			if again := k.encode(got); !bytes.Equal(again, b) {
				t.Fatalf("%s: encoded\n%x, want\n%x", name, again, b)
			}
		}
	}
}
