package rup

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func fullInfo() *Info {
	return &Info{
		CGI: "http://www.site.example/rup", Latency: []Unit{Day, Week}, Exclude: []string{`\.gif$`, "/tmp/", "(", "a{1,2}"},
		IncludeOnly: []string{".*"}, MaxQuerySpan: Span{4, Week},
	}
}

func query(t testing.TB, s string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const who = "&RegistrationKey=sesame&RegisteredRobotEmail=r@bot.example"

func TestRUP_6_2_Requests(t *testing.T) {
	t.Parallel()
	cred := Credentials{"r@bot.example", "sesame"}
	for text, want := range map[string]Request{
		"Action=Register&RobotEmail=r@bot.example":                                    {Action: Register, Preferences: Preferences{Email: "r@bot.example"}},
		"aCTION=register&robotemail=r@bot.example&LATENCY=2-week&colour=red&colour=b": {Action: Register, Preferences: Preferences{Email: "r@bot.example", Latency: Latency{2, Week}}},
		`Action=Register&RobotEmail=r@bot.example&Exclude=\.gif$+/tmp/&IncludeOnly=`:  {Action: Register, Preferences: Preferences{Email: "r@bot.example", Exclude: []string{`\.gif$`, "/tmp/"}, IncludeOnly: []string{}}},
		"Action=Register&RobotEmail=r@bot.example&IncludeOnly=any%2Bthing":            {Action: Register, Preferences: Preferences{Email: "r@bot.example", IncludeOnly: []string{"any+thing"}}},
		"Action=Unregister" + who:                                 {Action: Unregister, Credentials: cred},
		"Action=GetSequenceNumber" + who:                          {Action: GetSequenceNumber, Credentials: cred},
		"Action=ModifyPreferences" + who:                          {Action: ModifyPreferences, Credentials: cred},
		"Action=ModifyPreferences&Latency=day&Exclude=+" + who:    {Action: ModifyPreferences, Credentials: cred, Preferences: Preferences{Latency: Latency{1, Day}, Exclude: []string{}}},
		"Action=GetIndex&Span=4-week":                             {Action: GetIndex, Span: Span{4, Week}},
		"Action=GetIndex&Span=28-day" + who:                       {Action: GetIndex, Span: Span{28, Day}, Credentials: cred},
		"Action=GetIndex&Span=1-day&RegistrationKey=&RobotEmail=": {Action: GetIndex, Span: Span{1, Day}},
	} {
		got, err := ParseRequest(query(t, text), fullInfo())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %#v, %v\nwant %#v", text, got, err, want)
		}
	}
}

// Formats §6.2: each parameter that is missing, invalid, repeated or not offered.
func TestRUP_6_2_RequestErrors(t *testing.T) {
	t.Parallel()
	const reg = "Action=Register&RobotEmail=r@bot.example"
	bare := &Info{CGI: "/rup"}
	for _, c := range []struct {
		text   string
		info   *Info
		status int
		names  string
	}{
		{"", nil, 400, "Action"},
		{"Action=", nil, 400, "Action"},
		{"RobotEmail=r@bot.example", nil, 400, "Action"},
		{"Action=Frobnicate", nil, 501, "Action"},
		{"Action=Register&Action=Register&RobotEmail=r@bot.example", nil, 400, "Action"},
		{"Action=Register&action=Register&RobotEmail=r@bot.example", nil, 400, "Action"},
		{"Action=Register", nil, 400, "RobotEmail"},
		{"Action=Register&RobotEmail=", nil, 400, "RobotEmail"},
		{"Action=Register&RobotEmail=nobody", nil, 400, "RobotEmail"},
		{reg + "&RobotEmail=s@bot.example", nil, 400, "RobotEmail"},
		{reg + "&Span=1-day&span=2-day", nil, 400, "Span"},
		{reg + "&Latency=", nil, 400, "Latency"},
		{reg + "&Latency=0-day", nil, 400, "Latency"},
		{reg + "&Latency=month", nil, 400, "Latency"}, // not offered
		{reg + "&Latency=day", bare, 400, "Latency"},
		{reg + `&Exclude=\.gif$&IncludeOnly=x`, nil, 400, "IncludeOnly"}, // both
		{reg + "&Exclude=x&IncludeOnly=x", bare, 400, "IncludeOnly"},
		{reg + "&Exclude=x", bare, 501, "Exclude"},
		{reg + "&IncludeOnly=x", bare, 501, "IncludeOnly"},
		{reg + "&Exclude=x", nil, 400, "Exclude"}, // not accepted
		{reg + `&Exclude=\.gif`, nil, 400, "Exclude"},
		{reg + "&Exclude=(", nil, 400, "Exclude"}, // offered, but not RE2
		{reg + "&IncludeOnly=(%3F%3Dx)", nil, 400, "IncludeOnly"},
		{reg + "&IncludeOnly=" + strings.Repeat("x", MaxPattern+1), nil, 400, "IncludeOnly"},
		{reg + "&IncludeOnly=" + strings.Repeat("x+", MaxPatterns+1), nil, 400, "IncludeOnly"},
		{reg + "&IncludeOnly=((x{100}){100}){9}", nil, 400, "IncludeOnly"},
		{"Action=Unregister", nil, 400, "RegistrationKey"},
		{"Action=Unregister&RegistrationKey=sesame", nil, 400, "RegisteredRobotEmail"},
		{"Action=Unregister&RegisteredRobotEmail=r@bot.example", nil, 400, "RegistrationKey"},
		{"Action=Unregister&RegistrationKey=sesame" + who, nil, 400, "RegistrationKey"},
		{"Action=GetSequenceNumber&RegistrationKey=&RegisteredRobotEmail=r@bot.example", nil, 400, "RegistrationKey"},
		{"Action=ModifyPreferences&RobotEmail=r@bot.example", nil, 400, "RegistrationKey"},
		{"Action=ModifyPreferences&RobotEmail=" + who, nil, 400, "RobotEmail"},
		{"Action=ModifyPreferences&Latency=month" + who, nil, 400, "Latency"},
		{"Action=ModifyPreferences&Exclude=x" + who, bare, 501, "Exclude"},
		{"Action=ModifyPreferences&Exclude=x" + who, nil, 400, "Exclude"},
		{"Action=GetIndex", nil, 400, "Span"},
		{"Action=GetIndex&Span=week", nil, 400, "Span"},
		{"Action=GetIndex&Span=5-week", nil, 400, "Span"},
		{"Action=GetIndex&Span=1-month", nil, 400, "Span"},
		{"Action=GetIndex&Span=1-day", bare, 501, "Action"},
		{"Action=GetIndex", bare, 501, "Action"},
		{"Action=GetIndex&Span=1-day&RegistrationKey=sesame", nil, 400, "RegisteredRobotEmail"},
	} {
		info := c.info
		if info == nil {
			info = fullInfo()
		}
		got, err := ParseRequest(query(t, c.text), info)
		var e *Error
		if !errors.As(err, &e) || e.Status != c.status || e.Parameter != c.names || e.Reason == "" || !reflect.DeepEqual(got, Request{}) {
			t.Errorf("%s: %+v, %v; want %d %s", c.text, got, err, c.status, c.names)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v holds the key", c.text, err)
		}
	}
}

// Names and actions fold case in ASCII only.
func TestRUP_6_2_CaseOfNames(t *testing.T) {
	t.Parallel()
	if _, err := ParseRequest(url.Values{"Action": {"Regi\u017Fter"}, "RobotEmail": {"r@bot.example"}}, fullInfo()); err == nil {
		t.Error("a long s is no s")
	}
	if _, err := ParseRequest(url.Values{"Action": {"REGISTER"}, "ROBOTEMAIL": {"r@bot.example"}}, fullInfo()); err != nil {
		t.Error(err)
	}
}

// A request that a robot builds is parsed as the same request by a site.
func TestRUP_6_2_BuiltRequests(t *testing.T) {
	t.Parallel()
	cred := Credentials{"r@bot.example", "sesame"}
	for _, r := range []Request{
		{Action: Register, Preferences: Preferences{Email: "r+x@bot.example"}},
		{Action: Register, Preferences: Preferences{Email: "r@bot.example", Latency: Latency{3, Day}, Exclude: []string{`\.gif$`, "a{1,2}"}}},
		{Action: Unregister, Credentials: cred}, {Action: GetSequenceNumber, Credentials: cred}, {Action: ModifyPreferences, Credentials: cred},
		{Action: ModifyPreferences, Credentials: cred, Preferences: Preferences{Email: "s@bot.example", Latency: Latency{1, Week}, Exclude: []string{}, IncludeOnly: []string{"&=%+"}}},
		{Action: GetIndex, Span: Span{1, Week}}, {Action: GetIndex, Span: Span{1, Week}, Credentials: cred},
	} {
		got, err := ParseRequest(query(t, r.Form()), fullInfo())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s:\n got %#v, %v\nwant %#v", r.Form(), got, err, r)
		}
	}
	// Register sends no credentials of an earlier registration, and no empty lists.
	r := Request{Action: Register, Credentials: cred, Span: Span{1, Day}, Preferences: Preferences{Email: "r@bot.example", Exclude: []string{}}}
	if got := r.Form(); got != "Action=Register&RobotEmail=r%40bot.example" {
		t.Error(got)
	}
}

func TestRUP_6_2_Emails(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 61)+".", 3) + "example"
	for _, s := range []string{"r@bot.example", "a.b+c_d-e=f@x-y.bot.example", "!#$%&'*/?^`{|}~@b.co", long} {
		if err := CheckEmail(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	at := strings.Repeat("a", 64) + "@" + strings.Repeat("b", 61) + "." + strings.Repeat("c", 61) + "." + strings.Repeat("d", 61) + ".ee"
	if len(at) != MaxEmail-1 || CheckEmail(at+"e") != nil || CheckEmail(at+"ee") == nil {
		t.Errorf("%d bytes: %v, %v", len(at), CheckEmail(at+"e"), CheckEmail(at+"ee"))
	}
	for _, s := range []string{
		"", "r", "@", "r@", "@bot.example", "r@bot", "r@localhost", "Robot <r@bot.example>", "<r@bot.example>", "r@bot.example, s@bot.example", "r s@bot.example",
		"r@bot.example\r\nBcc: x@y.example", "r\n@bot.example", "\"r\"@bot.example", "r@[127.0.0.1]", "r@127.0.0.1", "r@bot..example", "r@.bot.example", "r@bot.example.",
		".r@bot.example", "r.@bot.example", "a..b@bot.example", "r@-bot.example", "r@bot-.example", "r@b_t.example", "r@b\u00fccher.example", "r\u00e4@bot.example", " r@bot.example",
		"r@bot.example ", "r@@bot.example", "r@s@bot.example", strings.Repeat("a", 65) + "@bot.example", "r@" + strings.Repeat("a", 64) + ".example", "r,s@bot.example", "r\x00@bot.example",
	} {
		if CheckEmail(s) == nil {
			t.Errorf("%q is taken", s)
		}
	}
	if EmailKey("R@Bot.Example") != "r@bot.example" || EmailDomain("R@Bot.Example") != "bot.example" {
		t.Error("case matters")
	}
}

// A key appears only where it is required.
func TestRUP_6_2_KeysStayHidden(t *testing.T) {
	t.Parallel()
	c := Credentials{"r@bot.example", "sesame"}
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "credentials", c, "key", c.Key, "request", Request{Credentials: c})
	slog.New(slog.NewTextHandler(&b, nil)).Info(fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c.Key, c.Key))
	if text := b.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "(key)") {
		t.Error(text)
	}
	if string(c.Key) != "sesame" {
		t.Error("and cannot be had at all")
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false, errors.New("connection refused"): true, ErrMalformed: false, fmt.Errorf("x: %w", ErrHead): false, ErrSite: false,
		&Error{Status: 400}: false, &Error{Status: 404}: false, &Error{Status: 429}: false, &Error{Status: 302}: false, &Error{Status: 500}: true,
		&Error{Status: http.StatusNotImplemented}: false, fmt.Errorf("x: %w", &Error{Status: 503}): true,
	} {
		if Retryable(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("Action=Register&RobotEmail=r@bot.example&Latency=day&Exclude=a+b")
	f.Add("Action=ModifyPreferences&IncludeOnly=&RobotEmail=r@bot.example" + who)
	f.Add("Action=GetIndex&Span=2-week" + who)
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		r, err := ParseRequest(values, fullInfo())
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Status != 400 && e.Status != 501 {
				t.Fatal(err)
			}
			return
		}
		if strings.ContainsAny(r.Preferences.Email, "\r\n \x00") {
			t.Fatalf("%q", r.Preferences.Email)
		}
		again, err := ParseRequest(query(t, r.Form()), fullInfo())
		if err != nil || again.Form() != r.Form() {
			t.Fatalf("%q is built as %q, read as %+v, %v", text, r.Form(), again, err)
		}
	})
}
