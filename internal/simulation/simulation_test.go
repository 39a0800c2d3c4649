package simulation

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
)

// keptSeeds failed once, or found a mutation (testdata/mutations.txt). They always run. What a seed
// does changes with the web and the plan that are made from it, so after a change of these, other
// seeds may be worth keeping.
var keptSeeds = []uint64{28, 30, 41, 42, 46, 54, 55}

// TestSimulation crawls one random web per seed, with faults, and checks the promises. SEEDS is the
// number of seeds, and FROM the first.
func TestSimulation(t *testing.T) {
	for _, seed := range seedsOf(t, keptSeeds, 20, 8) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) { newWorld(t, seed).run() })
		})
	}
}

// seedsOf returns the seeds to run: SEEDS of them from FROM on, or without that those that are kept
// and the first ones. Under the race detector, which takes six times as long, these are few.
func seedsOf(t *testing.T, kept []uint64, otherwise, raced int) (seeds []uint64) {
	count, from := setting(t, "SEEDS", otherwise), setting(t, "FROM", 1)
	for i := range count {
		seeds = append(seeds, uint64(from+i))
	}
	if os.Getenv("SEEDS") == "" {
		if seeds = append(seeds, kept...); testaid.RaceDetector {
			seeds = seeds[:raced]
		}
	}
	return seeds
}

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q: use a number", name, text)
	}
	return n
}
