package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"curtsy": mainThatMayDie})
}

// TestScripts runs the commands as a user types them. Beside testscript's own, the scripts know
//
//	simweb [hosts pages]       a simulated web; sets SEED and RESOLVE
//	simweb data                one of a host with datasets
//	exits CODE command args    the command must exit with CODE
//	soon command args          the command must succeed within a minute
//	once FILE                  no URL may be stored twice in a crawl log
//	serving args               curtsy serve, beside the script; sets SEARCH. serving ends: ^C
//	asks CODE URL [HOST]       what an HTTP server answers, header and body
//	idof NAME                  sets ID to that of the first dataset with this name
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CURTSY_LISTEN", "off")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Values[servingKey{}] = new(serving)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"simweb": scriptSimweb, "exits": scriptExits, "soon": scriptSoon, "once": scriptOnce, "idof": scriptIDOf,
			"serving": scriptServing, "asks": scriptAsks,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

func scriptSimweb(ts *testscript.TestScript, neg bool, args []string) {
	cfg := simweb.Demo()
	if len(args) == 2 {
		hosts, err := strconv.Atoi(args[0])
		ts.Check(err)
		pages, err := strconv.Atoi(args[1])
		ts.Check(err)
		cfg = simweb.Config{Hosts: hosts, PagesPerHost: pages, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Robots: simweb.RobotsSubtree}
		}}
	} else if len(args) == 1 && args[0] == "data" {
		cfg = simweb.Config{Hosts: 1, PagesPerHost: 2, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Features: []simweb.Feature{simweb.FeatureDataYAML, simweb.FeatureDataRecords}}
		}}
	} else if neg || len(args) != 0 {
		ts.Fatalf("usage: simweb [hosts pages | data]")
	}
	web, err := simweb.Start(cfg)
	ts.Check(err)
	ts.Defer(func() { web.Close() })
	ts.Setenv("SEED", web.Seeds()[0])
	ts.Setenv("RESOLVE", web.Resolve())
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args")
	}
	code := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if args[0] != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func scriptSoon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: soon command args")
	}
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
	}
	ts.Check(err)
}

func scriptOnce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: once FILE")
	}
	seen := map[string]bool{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var entry struct{ URL, State string }
		ts.Check(json.Unmarshal([]byte(line), &entry))
		if entry.State == "stored" && seen[entry.URL] {
			ts.Fatalf("%s was stored twice", entry.URL)
		}
		seen[entry.URL] = true
	}
}

func scriptIDOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: idof NAME")
	}
	ts.Check(ts.Exec("curtsy", "datasets", "--json"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var d struct{ ID, Name string }
		ts.Check(json.Unmarshal([]byte(line), &d))
		if d.Name == args[0] {
			ts.Setenv("ID", d.ID)
			return
		}
	}
	ts.Fatalf("no dataset %s is listed", args[0])
}
