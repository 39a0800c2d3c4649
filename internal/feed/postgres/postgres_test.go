package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
)

func TestOpenErrors(t *testing.T) {
	long := strings.Repeat("x", mostName)
	for text, want := range map[string]string{
		"mysql://h/db":                              "is not postgres",
		"postgres://h/db?table=a%3Bb":               "letters, digits and _",
		"postgres://h/db?table=my%20pages":          "letters, digits and _",
		"postgres://h/db?table=a.b.c":               "SCHEMA.NAME",
		"postgres://h/db?table=" + long + "x":       "up to 48 bytes",
		"postgres://u:secret@h/db?pool_max_conns=x": "not valid",
		"postgres://u:secret@h/db?sslmode=no":       "sslmode",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), u, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]table{
		"postgres://h/db":                   {`"pages"`, `"pages_deleted"`, "pages"},
		"postgres:///db?table=web.Pages_2":  {`"web"."Pages_2"`, `"web"."Pages_2_deleted"`, "Pages_2"},
		"postgresql://u@h/db?table=" + long: {`"` + long + `"`, `"` + long + `_deleted"`, long},
		"postgres://h/db?table=select":      {`"select"`, `"select_deleted"`, "select"},
	} {
		u, _ := url.Parse(text)
		if got, err := tableOf(u); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// Errors pass, concern one page, or need an operator.
func TestKinds(t *testing.T) {
	for code, want := range map[string]kind{
		"08006": passing, "40001": passing, "40P01": passing, "53100": passing, "53300": passing, "55P03": passing, "57P01": passing,
		"57P03": passing, "57014": passing, "58030": passing, "XX000": passing, "25006": passing,
		"22021": data, "22P05": data, "23514": data, "54000": data, "P0001": data,
		"28P01": permanent, "3D000": permanent, "42501": permanent, "42P01": permanent, "42703": permanent, "0A000": permanent, "": permanent,
	} {
		if got := kindOf(code); got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
		err := classify(fmt.Errorf("write: %w", &pgconn.PgError{Code: code}))
		var p *feed.Permanent
		if errors.As(err, &p) != (want != passing) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := errors.New("connection refused"); classify(err) != err || classify(nil) != nil {
		t.Error("an error of a connection must pass")
	}
}

// A page becomes parameters in the order of the upsert, and a NUL another character.
func TestArguments(t *testing.T) {
	c := feedtest.Page("https://example.org/a", 5)
	c.Row.Text, c.Row.Lang = "a\x00b \\u0000", "de"
	args, err := arguments(&feed.Batch{Crawl: "docs", Shard: 3, Generation: 7}, &c)
	if err != nil {
		t.Fatal(err)
	}
	if len(args) != len(own)+len(columns)+1 {
		t.Fatalf("%d parameters", len(args))
	}
	got := map[string]any{}
	for i, col := range append(own[:len(own):len(own)], columns...) {
		got[col.name] = args[i]
	}
	for name, want := range map[string]any{
		"id": c.ID, "version": int64(5), "crawl": "docs", "shard": 3, "generation": int64(7), "host": "example.org", "url": c.Row.URL,
		"status": int64(200), "text": "a\ufffdb \\u0000", "description": nil,
	} {
		if got[name] != want {
			t.Errorf("%s is %#v, want %#v", name, got[name], want)
		}
	}
	if more := string(got["more"].([]byte)); !strings.Contains(more, `"snippet_allowed":true`) || strings.Contains(more, `"url"`) {
		t.Errorf("more is %s", more)
	}
	if args[len(args)-1] != "pg_catalog.german" || searchConfig("xx") != "pg_catalog.simple" {
		t.Errorf("%v", args[len(args)-1])
	}
	for n := 1; n <= len(args); n++ {
		if !strings.Contains(table{name: "pages"}.upsert(), fmt.Sprintf("$%d::", n)) {
			t.Errorf("the statement has no parameter $%d", n)
		}
	}
}

// Without NUL a text in JSON is what it was, but for its NULs.
func FuzzWithoutNUL(f *testing.F) {
	for _, s := range []string{"", "\x00", `\u0000`, `\\u0000`, "\\\x00\\", "a\x00\"b\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal(withoutNUL(b), &got); err != nil || got != strings.ReplaceAll(s, "\x00", "\ufffd") {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	})
}
