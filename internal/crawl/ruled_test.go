package crawl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Fields are shown as an object with values of their types.
func TestFieldsJSON(t *testing.T) {
	f := Fields{
		{Name: "chapter", Type: FieldText, Values: []string{"A < B & \"C\""}},
		{Name: "date", Type: FieldDate, Values: []string{"2026-11-29T00:00:00Z"}},
		{Name: "draft", Type: FieldBoolean, Values: []string{"true"}},
		{Name: "tags", Type: FieldKeyword, Many: true, Values: []string{"a"}},
		{Name: "version", Type: FieldNumber, Values: []string{"16.5"}},
		{Name: "versions", Type: FieldNumber, Many: true, Values: []string{"1", "-2"}},
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"chapter":"A \u003c B \u0026 \"C\"","date":"2026-11-29T00:00:00Z","draft":true,"tags":["a"],"version":16.5,"versions":[1,-2]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	var got Fields
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	// The object does not distinguish texts, keywords and dates.
	f[1].Type, f[3].Type = FieldText, FieldText
	if !got.Equal(f) {
		t.Errorf("read %+v, want %+v", got, f)
	}
}

// A value that is not of its type cannot make the JSON invalid.
func TestFieldsJSONOfOddValues(t *testing.T) {
	for _, v := range []string{"", "NaN", "1,2", "01", "1}", "null", " 1", "true\n"} {
		for typ := range FieldType(7) {
			if b, err := json.Marshal(Fields{{Name: "a", Type: typ, Values: []string{v}}}); err != nil || !strings.HasPrefix(string(b), `{"a":"`) {
				t.Errorf("%q as %s: %s, %v", v, typ, b, err)
			}
		}
	}
	for in, n := range map[string]int{`{"a":{"b":1}}`: -1, `[]`: -1, `{"a":[[1]]}`: -1, `{"a":null}`: 0, `null`: 0, `{}`: 0, `{"b":1,"a":[]}`: 1} {
		var f Fields
		if err := json.Unmarshal([]byte(in), &f); (err != nil) != (n < 0) || err == nil && len(f) != n {
			t.Errorf("%s: %+v, %v", in, f, err)
		}
	}
}

func FuzzFieldsJSON(f *testing.F) {
	f.Add([]byte(`{"version":16,"tags":["a",true,1e9]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second Fields
		if json.Unmarshal(b, &first) != nil {
			return
		}
		again, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &second); err != nil || len(first) != len(second) {
			t.Fatalf("%s: %+v, %+v, %v", again, first, second, err)
		}
	})
}

// A message within the limits arrives whole. What is beyond them is left out.
func TestRuledLimits(t *testing.T) {
	arrives := func(r Ruled) Ruled {
		t.Helper()
		all, err := DecodePages(AppendPages(nil, []Page{{URL: "https://a.example/", Ruled: &r}}))
		if err != nil {
			t.Fatal(err)
		}
		return *all[0].Ruled
	}
	n := func(n int) string { return strings.Repeat("x", n) }
	values := make([]string, MaxFieldValues)
	whole := Ruled{Rules: 1, Title: n(MaxTitle), Description: n(MaxDescription), Fields: Fields{{Name: n(MaxFieldName), Values: values}}}
	for i := range MaxFields - 1 {
		whole.Fields = append(whole.Fields, Field{Name: fmt.Sprintf("%03d", i), Values: []string{""}})
	}
	left := MaxFieldBytes
	for i := range whole.Fields {
		left -= whole.Fields[i].size()
	}
	whole.Fields[1].Values = []string{n(left)}
	if got := arrives(whole); !got.SameContent(&whole) {
		t.Error("a message at the limits does not arrive whole")
	}
	whole.Fields = append(whole.Fields, Field{Name: "a", Values: []string{""}})
	whole.Title += "x"
	whole.Description = n(MaxDescription-1) + "é"
	if got := arrives(whole); len(got.Fields) != MaxFields || len(got.Title) != MaxTitle || len(got.Description) != MaxDescription-1 {
		t.Errorf("%d fields, title of %d, description of %d bytes", len(got.Fields), len(got.Title), len(got.Description))
	}
	for what, f := range map[string]Field{
		"a longer name":  {Name: n(MaxFieldName + 1), Values: []string{"1"}},
		"more values":    {Name: "a", Values: append(values, "")},
		"more bytes":     {Name: "a", Values: []string{n(MaxFieldBytes)}},
		"no value":       {Name: "a"},
		"another type":   {Name: "a", Type: FieldBoolean + 1, Values: []string{"1"}},
		"(all the rest)": {},
	} {
		if got := arrives(Ruled{Fields: Fields{f, {Name: "b", Values: []string{"kept"}}}}).Fields; len(got) != 1 || got.Get("b")[0] != "kept" {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
