package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary each of our programs, by its name. None of them listens on an
// address without being asked to.
func TestMain(m *testing.M) {
	os.Setenv("CURTSY_LISTEN", "off")
	testscript.Main(m, map[string]func(){
		"curtsy":   mainThatMayDie,
		"frontier": func() { daemons.Main("frontier") },
		"fetcher":  func() { daemons.Main("fetcher") },
		"indexer":  func() { daemons.Main("indexer") },
	})
}

// TestScripts runs the commands as a user types them. Beside testscript's own, the scripts know
//
//	simweb [hosts pages]       a simulated web; sets SEED and RESOLVE
//	exits CODE command args    the command must exit with CODE
//	soon command args          the command must succeed, now or later
//	once FILE                  no URL may be stored twice in a crawl log
//	serving args               curtsy serve, beside the script; sets SEARCH. serving ends: ^C
//	asks CODE URL [HOST]       what an HTTP server answers, header and body
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CURTSY_LISTEN", "off")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Values[servingKey{}] = new(serving)
			env.Values[testKey{}] = t
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"simweb": scriptSimweb, "exits": scriptExits, "soon": scriptSoon, "once": scriptOnce,
			"serving": scriptServing, "asks": scriptAsks,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// testKey is the key of the test to which a script belongs.
type testKey struct{}

func scriptSimweb(ts *testscript.TestScript, neg bool, args []string) {
	web, err := simweb.Start(scriptWeb(args))
	ts.Check(err)
	ts.Defer(func() { web.Close() })
	ts.Setenv("SEED", web.Seeds()[0])
	ts.Setenv("RESOLVE", web.Resolve())
}

// scriptWeb is the web that the words after simweb in a script name.
func scriptWeb(args []string) simweb.Config {
	if len(args) == 0 {
		return simweb.Demo()
	}
	if args[0] == "data" {
		return simweb.Config{Hosts: 1, PagesPerHost: 2, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Features: []simweb.Feature{simweb.FeatureDataYAML, simweb.FeatureDataRecords}}
		}}
	}
	hosts, err := strconv.Atoi(args[0])
	pages, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err, err2); err != nil {
		panic("usage: simweb [hosts pages | data]: " + err.Error())
	}
	return simweb.Config{Hosts: hosts, PagesPerHost: pages, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree}
	}}
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
	testaid.Until(ts.Value(testKey{}).(testing.TB), strings.Join(args, " "), func() bool { return ts.Exec(args[0], args[1:]...) == nil })
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

// datasetID finds a dataset by its name among those that curtsy datasets --json has listed.
func datasetID(list, name string) (string, error) {
	for line := range strings.Lines(list) {
		var d struct{ ID, Name string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return "", err
		}
		if d.Name == name {
			return d.ID, nil
		}
	}
	return "", fmt.Errorf("no dataset %s is listed", name)
}
