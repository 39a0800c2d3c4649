package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func memberNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("frontier-", i)
	}
	return names
}

// shares counts the shards of each member.
func shares(owners []string) map[string]int {
	n := map[string]int{}
	for _, name := range owners {
		n[name]++
	}
	return n
}

func TestAssignIsFairAndDeterministic(t *testing.T) {
	for _, shards := range []int{1, 4, 16, 64, 256} {
		for _, n := range []int{1, 2, 3, 5, 16, 40} {
			members := memberNames(n)
			owners := Assign(shards, members)
			count := shares(owners)
			for name := range count {
				if !slices.Contains(members, name) {
					t.Errorf("%d shards, %d members: a shard is of %q", shards, n, name)
				}
			}
			for _, name := range members {
				if k := count[name]; k < shards/n || k > (shards+n-1)/n {
					t.Errorf("%d shards, %d members: %s has %d", shards, n, name, k)
				}
			}
			given := slices.Clone(members)
			rand.Shuffle(n, func(i, j int) { given[i], given[j] = given[j], given[i] })
			was := slices.Clone(given)
			if !slices.Equal(Assign(shards, given), owners) {
				t.Errorf("%d shards, %d members: the order of members matters", shards, n)
			}
			if !slices.Equal(given, was) {
				t.Error("Assign changed its argument")
			}
		}
	}
	if got := Assign(3, nil); !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("without members: %q", got)
	}
	if got := Assign(0, memberNames(2)); len(got) != 0 {
		t.Errorf("without shards: %q", got)
	}
	if got := Assign(3, []string{"a"}); !slices.Equal(got, []string{"a", "a", "a"}) {
		t.Errorf("one member: %q", got)
	}
}

// Every machine must compute the same result, whatever version of the program it runs.
func TestAssignStaysTheSame(t *testing.T) {
	got := Assign(8, []string{"f1", "f2", "f3"})
	if want := []string{"f2", "f1", "f3", "f3", "f3", "f1", "f1", "f2"}; !slices.Equal(got, want) {
		t.Errorf("Assign(8, f1 f2 f3) = %q, it was %q", got, want)
	}
}

// A new member takes its share from the others, and the shards of a leaving member are distributed.
// The test counts the shards that move although neither makes it necessary.
func TestAssignMovesLittle(t *testing.T) {
	moved := func(a, b []string) (n int) {
		for i := range a {
			if a[i] != b[i] {
				n++
			}
		}
		return n
	}
	for _, shards := range []int{16, 64, 256} {
		sum, must, worst := 0, 0, 0.0
		for n := 1; n < 10; n++ {
			for k := range n + 1 { // member k joins, or leaves
				all := memberNames(n + 1)
				without := slices.Delete(slices.Clone(all), k, k+1)
				more, less := Assign(shards, all), Assign(shards, without)
				m, least := moved(more, less), shares(more)[all[k]]
				sum, must, worst = sum+m, must+least, max(worst, float64(m)/float64(least))
			}
		}
		t.Logf("%d shards: %d moved where %d must (%.2f), at worst %.2f times", shards, sum, must, float64(sum)/float64(must), worst)
		if float64(sum) > 1.5*float64(must) {
			t.Errorf("%d shards: %d moved where %d must", shards, sum, must)
		}
	}
}
