package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Formats §8.3: a dataset has the strictest statement about use of the sites of its documents, each
// with its document. The catalogue and its exports contain it.
func TestUsage_8_3_Datasets(t *testing.T) {
	claim := func(document, kind, signal string) crawl.DatasetClaim {
		var s usage.Set
		s.ContentSignal(usage.Position{From: "robots.txt", Line: 4}, signal)
		return crawl.DatasetClaim{Kind: kind, Document: document, Origin: "https://a.example", ID: "https://a.example/id", Name: "n", Allowed: true,
			Files: []crawl.DatasetFile{{URL: "https://a.example/f.csv"}}, Usage: s.Statements()}
	}
	all := Merge([]crawl.DatasetClaim{
		claim("https://a.example/1", crawl.DatasetJSONLD, "ai-train=yes, search=yes"), claim("https://a.example/2", crawl.DatasetDCAT, "ai-train=no"), claim("https://a.example/3", crawl.DatasetDCAT, ""),
	})
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	u := all[0].Usage
	if u.AITrain != "disallow" || u.Search != "allow" || u.TDM != "unknown" || len(u.Sources) != 3 || u.Against(usage.AITrain).Document != "https://a.example/2" {
		t.Errorf("%+v", u)
	}
	for _, format := range Formats {
		var b bytes.Buffer
		if err := Export(&b, format, all); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"jsonl": `"ai-train":"disallow"`, "csv": "search allow; ai-train disallow", "dcat": "search allow, ai-train disallow"}[format]
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: %s", format, &b)
		}
	}
	silent := Merge([]crawl.DatasetClaim{claim("https://a.example/3", crawl.DatasetDCAT, "")})
	raw, err := json.Marshal(silent[0].Usage)
	if err != nil || string(raw) != `{"search":"unknown","ai-input":"unknown","ai-train":"unknown","tdm":"unknown","sources":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
	var b bytes.Buffer
	if err := Export(&b, "dcat", silent); err != nil || strings.Contains(b.String(), "accessRights\": {") {
		t.Errorf("%v: %s", err, &b)
	}
}

// A statement is stored with a data.txt, and deleted with it.
func TestUsage_8_3_DataTxt(t *testing.T) {
	p := crawl.Page{Kind: crawl.KindData, URL: "https://a.example/data.txt", Visit: crawl.VisitID{Epoch: 1, N: 1}, Usage: usage.Statements{{Text: "x", Preferences: usage.PreferencesOf(2)}}}
	p.Origin = p.URL.Origin()
	e, ok := Update(Entry{}, &p, []byte(iris), "curtsy")
	if !ok || len(e.Usage) != 1 {
		t.Fatalf("%+v, %v", e, ok)
	}
	raw, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(raw)
	if err != nil || len(again.Usage) != 1 || again.Usage[0] != e.Usage[0] {
		t.Errorf("%+v, %v", again.Usage, err)
	}
	claims, err := again.Claims("curtsy", nil)
	if err != nil || len(claims) == 0 || len(claims[0].Usage) != 1 {
		t.Errorf("%+v, %v", claims, err)
	}
	p.Visit.N, p.Deleted = 2, crawl.ReasonHTTP4xx
	if e, _ = Update(again, &p, nil, "curtsy"); e.Usage != nil {
		t.Errorf("gone: %+v", e.Usage)
	}
}
