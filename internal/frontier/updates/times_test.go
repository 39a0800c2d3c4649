package updates

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/rup"
)

// All times in a site's record are adapted to the clock of the machine to which it moves, however
// many fields it has: times that are waited for in both directions, times until when something is
// known only backwards.
func TestRUPTimesAreShifted(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		testRUPTimesAreShifted(t, d)
	}
}

func testRUPTimesAreShifted(t *testing.T, d time.Duration) {
	waits := []string{"InfoDue", "Retry", "RegisterAt", "ModifyAt", "Tick", "Poll", "Heard", "GapAt"}
	base := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	was := RUPSite{Seq: rup.NewState(base)}
	n := 0
	var each func(v reflect.Value, f func(string, *time.Time))
	each = func(v reflect.Value, f func(string, *time.Time)) {
		for i := range v.NumField() {
			switch x := v.Field(i); {
			case !v.Type().Field(i).IsExported() && !v.Type().Field(i).Anonymous:
			case x.Type() == reflect.TypeFor[time.Time]():
				f(v.Type().Field(i).Name, x.Addr().Interface().(*time.Time))
			case x.Kind() == reflect.Struct:
				each(x, f)
			case x.Kind() == reflect.Pointer && !x.IsNil() && x.Elem().Kind() == reflect.Struct:
				each(x.Elem(), f)
			}
		}
	}
	each(reflect.ValueOf(&was).Elem(), func(_ string, at *time.Time) {
		n++
		*at = base.Add(time.Duration(n) * time.Minute)
	})
	db, err := store.OpenBolt(t.TempDir()+"/x.db", false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key := append(store.HostID(1).Append(nil), "http://a.example"...)
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(store.BucketRUP)
		if err != nil {
			return err
		}
		v, err := json.Marshal(&was)
		if err != nil {
			return err
		}
		if err := b.Put(key, v); err != nil {
			return err
		}
		if err := store.InRecords[RUPSite](store.BucketRUP)(tx, times.ShiftBy(d)); err != nil {
			return err
		}
		var got RUPSite
		if err := json.Unmarshal(b.Get(key), &got); err != nil {
			return err
		}
		k := 0
		each(reflect.ValueOf(&got).Elem(), func(name string, at *time.Time) {
			k++
			by := min(d, 0)
			if slices.Contains(waits, name) {
				by = d
			}
			if want := base.Add(time.Duration(k)*time.Minute + by); !at.Equal(want) {
				t.Errorf("%s, time %d of %d, by %v, is %v, want %v", name, k, n, d, at, want)
			}
		})
		if k != n || n < 15 {
			t.Errorf("%d times of %d", k, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
