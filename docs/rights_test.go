package docs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/curtsy/curtsy/internal/crawl"
)

// TestRights: for each subject of a crawl, deploy/nats.cluster.conf allows some role to publish to
// it and some role to subscribe to it. Events and pages are consumed from their streams.
func TestRights(t *testing.T) {
	publish, subscribe := rights(t, "../deploy/nats.cluster.conf")
	n := 0
	for name, subject := range subjects() {
		n++
		if !allowed(publish, subject) {
			t.Errorf("no role may publish to %s (crawl.Names.%s)", subject, name)
		}
		stored := strings.HasPrefix(subject, "demo.events.") || strings.HasPrefix(subject, "demo.pages.")
		if !stored && !allowed(subscribe, subject) {
			t.Errorf("no role may subscribe to %s (crawl.Names.%s)", subject, name)
		}
	}
	if n < 7 {
		t.Errorf("only %d subjects found", n)
	}
}

// TestRenderRights: some roles may ask for renderers, and others may be one.
func TestRenderRights(t *testing.T) {
	publish, subscribe := rights(t, "../deploy/nats.cluster.conf")
	if !slices.Contains(publish, crawl.RenderSubject) || !slices.Contains(subscribe, crawl.RenderSubject) {
		t.Errorf("nobody may publish, or subscribe to, %s", crawl.RenderSubject)
	}
}

// What it must find: a subject that nobody may publish to, and one that nobody may subscribe to.
func TestRightsCanFail(t *testing.T) {
	publish, subscribe := rights(t, "../deploy/nats.cluster.conf")
	for _, subject := range []string{"demo.other.0", "demo.take", "other.take.x"} {
		if allowed(publish, subject) || allowed(subscribe, subject) {
			t.Errorf("somebody may use %s", subject)
		}
	}
}

// subjects are the subjects of the crawl "demo", by the methods of crawl.Names that return them.
func subjects() map[string]string {
	all := map[string]string{}
	names := reflect.ValueOf(crawl.Names("demo"))
	for i := range names.NumMethod() {
		method := names.Method(i)
		var in []reflect.Value
		for j := range method.Type().NumIn() {
			switch method.Type().In(j).Kind() {
			case reflect.Int:
				in = append(in, reflect.ValueOf(3))
			case reflect.String:
				in = append(in, reflect.ValueOf("status"))
			}
		}
		if method.Type().NumOut() != 1 || method.Type().Out(0).Kind() != reflect.String || len(in) != method.Type().NumIn() {
			continue
		}
		if subject := method.Call(in)[0].String(); strings.HasPrefix(subject, "demo.") {
			all[names.Type().Method(i).Name] = subject
		}
	}
	return all
}

// rights are the subjects that any of the users in a configuration of NATS may publish and
// subscribe to.
func rights(t *testing.T, file string) (publish, subscribe []string) {
	t.Helper()
	for _, role := range []string{"FETCHER", "FRONTIER", "INDEXER", "FEEDER", "RENDERER", "OPERATOR", "ROUTE"} {
		t.Setenv(role+"_PASSWORD", "p")
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range opts.Users {
		publish = append(publish, u.Permissions.Publish.Allow...)
		subscribe = append(subscribe, u.Permissions.Subscribe.Allow...)
	}
	return publish, subscribe
}

// allowed reports whether a subject is one of these, which may have wildcards.
func allowed(all []string, subject string) bool {
	return slices.ContainsFunc(all, func(filter string) bool {
		return strings.HasPrefix(filter, "demo.") && server.SubjectsCollide(filter, subject)
	})
}
