package hosts

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// set sets a value to a non-zero one, different for each n.
func set(t *testing.T, v reflect.Value, n int) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(1_700_000_000, int64(n))
		return
	case *netip.Addr:
		*x = netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})
		return
	case *canon.Origin:
		*x = canon.Origin{Scheme: "https", Host: "moved.example", Port: 8000 + n}
		return
	case *robots.History:
	case *crawl.VisitID:
	case *Reported:
	case **mirror.Record:
		*x = new(mirror.Record)
		return
	case *[]RightsFile:
		*x = make([]RightsFile, 1)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) - 7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n%200) + 1)
	case reflect.String:
		v.SetString("text")
	case reflect.Slice:
		v.SetBytes([]byte{1, 2, byte(n)})
	case reflect.Struct:
		for i := range v.NumField() {
			set(t, v.Field(i), n+i)
		}
	default:
		t.Fatalf("a field of type %v: say here how it is set", v.Type())
	}
}

// TestEvictedHostIsRestoredExactly sets each field of a host and of an origin in the record of a
// host, one by one and all together: a host with a field that the record of an evicted host does
// not have must stay in memory.
func TestEvictedHostIsRestoredExactly(t *testing.T) {
	check := func(name string, h *Host) (pinned bool) {
		t.Helper()
		if !h.plain() {
			return true
		}
		got := &Host{}
		if err := decodeInto(got, h.ID, appendEvicted(nil, h)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := *h
		want.At, want.Evicted = -1, true
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: evicted\n%+v, it was\n%+v", name, got, &want)
		}
		return false
	}
	var fields func(of reflect.Type, at []int) []reflect.StructField
	fields = func(of reflect.Type, at []int) (list []reflect.StructField) {
		for i := range of.NumField() {
			f := of.Field(i)
			f.Index = append(slices.Clone(at), i)
			switch own := f.Type.PkgPath() == reflect.TypeFor[Host]().PkgPath(); {
			case !f.IsExported() || f.Tag.Get("json") == "-":
			case f.Anonymous && own: // a part of the record
				list = append(list, fields(f.Type, f.Index)...)
			default:
				list = append(list, f)
			}
		}
		return list
	}
	fresh := func() *Host {
		return &Host{ID: 7, Name: "www.example.org", Origins: []Origin{{Origin: canon.Origin{Scheme: "http", Host: "www.example.org", Port: 80}}}}
	}
	all := fresh()
	for i, f := range fields(reflect.TypeFor[Host](), nil) {
		name := f.Name
		if name == "ID" || name == "Name" || name == "Origins" {
			continue
		}
		h := fresh()
		set(t, reflect.ValueOf(h).Elem().FieldByIndex(f.Index), i)
		set(t, reflect.ValueOf(all).Elem().FieldByIndex(f.Index), i)
		if check(name, h) {
			t.Errorf("a host with %s is never evicted", name)
		}
	}
	pin := map[string]bool{}
	for i, f := range fields(reflect.TypeFor[Origin](), nil) {
		name := f.Name
		if name == "Origin" {
			continue
		}
		if name == "OriginFilesDue" { // one time for each kind of file
			for j, due := range all.Origins[0].OriginFilesDue.All() {
				h, at := fresh(), time.Unix(0, int64(j)+3)
				*h.Origins[0].OriginFilesDue.All()[j] = at
				if !check(fmt.Sprint("Origins[0].OriginFilesDue.", j), h) {
					*due = at
				}
			}
			continue
		}
		h := fresh()
		set(t, reflect.ValueOf(&h.Origins[0]).Elem().FieldByIndex(f.Index), i)
		if check("Origins[0]."+name, h) {
			pin[name] = true
			continue
		}
		set(t, reflect.ValueOf(&all.Origins[0]).Elem().FieldByIndex(f.Index), i)
	}
	if want := map[string]bool{"PendingOn": true, "DataOn": true, "Rights": true, "OriginFiles": true, "Mirror": true, "Dispatch": true}; !reflect.DeepEqual(pin, want) {
		t.Errorf("what keeps a host awake: %v, want %v", pin, want)
	}
	all.Origins = append(all.Origins, Origin{Origin: canon.Origin{Scheme: "https", Host: all.Name, Port: 8443}, Ready: 12})
	all.until, all.paces = 1_700_000_000_123, 3
	check("all at once", all)
}

// TestTimesOfEvictedHosts: every time is restored, and a time that does not fit into a number of
// nanoseconds becomes one in the distant past or never.
func TestTimesOfEvictedHosts(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(0, 1), time.Unix(-5, 0), time.Unix(1<<33, 5), time.Unix(1<<40, 0), time.Date(1200, 1, 1, 0, 0, 0, 0, time.UTC)} {
		c := recordCodec{}
		was := at
		c.time(&was)
		r := recordCodec{s: store.Scanner{B: c.b}, reading: true}
		var got time.Time
		if r.time(&got); r.s.Bad || len(r.s.B) > 0 {
			t.Fatalf("%v cannot be read", at)
		}
		switch {
		case got.Equal(at):
		case at.Year() > 2262 && got.Year() >= 2262, at.Year() < 1971 && !got.IsZero() && got.Year() < 1971:
		default:
			t.Errorf("%v came back as %v", at, got)
		}
	}
}

// FuzzEvicted: any bytes of the record of an evicted host are read or refused, and what is read is
// written as the same bytes.
func FuzzEvicted(f *testing.F) {
	h := &Host{Name: "www.example.org", Pace: Pace{Due: time.Unix(1_700_000_000, 0)}, Origins: make([]Origin, 2)}
	f.Add(appendEvicted(nil, h))
	f.Add([]byte{evictedVisited, 1, 'a'})
	f.Fuzz(func(t *testing.T, v []byte) {
		h, err := decodeRecord(1, v)
		if err != nil || v[0]&evictedVisited == 0 {
			return
		}
		again, err := decodeRecord(1, appendEvicted(nil, h))
		if err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("%+v\n%+v: %v", h, again, err)
		}
	})
}
