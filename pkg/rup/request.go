package rup

import (
	"log/slog"
	"net/url"
	"strings"
)

// Action is the action of a request.
type Action string

// The defined actions (formats §6.2).
const (
	Register          Action = "Register"
	Unregister        Action = "Unregister"
	ModifyPreferences Action = "ModifyPreferences"
	GetSequenceNumber Action = "GetSequenceNumber"
	GetIndex          Action = "GetIndex"
)

// Parameters of a request.
const (
	paramAction      = "Action"
	paramEmail       = "RobotEmail"
	paramLatency     = "Latency"
	paramExclude     = "Exclude"
	paramIncludeOnly = "IncludeOnly"
	paramKey         = "RegistrationKey"
	paramRegistered  = "RegisteredRobotEmail"
	paramSpan        = "Span"
)

var paramNames = []string{
	paramAction, paramEmail, paramLatency, paramExclude, paramIncludeOnly, paramKey, paramRegistered, paramSpan,
}

// Key is a registration key, which is secret. It is printed and logged as "(key)"; to store or send
// it, convert it to a string. In JSON it is written unchanged.
type Key string

// String hides the key.
func (Key) String() string { return "(key)" }

// GoString hides the key from %#v.
func (Key) GoString() string { return "(key)" }

// LogValue hides the key from slog.
func (Key) LogValue() slog.Value { return slog.StringValue("(key)") }

// Credentials prove to a site that a robot is registered.
type Credentials struct {
	Email string // RegisteredRobotEmail
	Key   Key    // RegistrationKey
}

// Preferences are a robot's preferences at a site. In a registration a zero field means the site's
// default. In ModifyPreferences it changes nothing, and an empty list that is not nil removes the
// existing one.
type Preferences struct {
	Email                string // RobotEmail
	Latency              Latency
	Exclude, IncludeOnly []string // at most one of them, from those that the site offers
}

// Request is one request to a site. Fields that its action does not use are ignored.
type Request struct {
	Action      Action
	Credentials Credentials // optional for GetIndex
	Preferences Preferences // of Register and ModifyPreferences
	Span        Span        // of GetIndex
}

// Values returns the parameters of the request.
func (r Request) Values() url.Values {
	v := url.Values{paramAction: {string(r.Action)}}
	if r.Action != Register && r.Credentials != (Credentials{}) {
		v.Set(paramKey, string(r.Credentials.Key))
		v.Set(paramRegistered, r.Credentials.Email)
	}
	switch r.Action {
	case Register, ModifyPreferences:
		p := r.Preferences
		if p.Email != "" {
			v.Set(paramEmail, p.Email)
		}
		if p.Latency != (Latency{}) {
			v.Set(paramLatency, p.Latency.String())
		}
		setList := func(name string, patterns []string) {
			if len(patterns) > 0 || patterns != nil && r.Action == ModifyPreferences {
				v.Set(name, strings.Join(patterns, " "))
			}
		}
		setList(paramExclude, p.Exclude)
		setList(paramIncludeOnly, p.IncludeOnly)
	case GetIndex:
		v.Set(paramSpan, r.Span.String())
	}
	return v
}

// FormType is the media type of requests.
const FormType = "application/x-www-form-urlencoded"

// Form returns the body of a POST of type application/x-www-form-urlencoded. Requests should be
// sent in this way, because keys in a URL appear in logs.
func (r Request) Form() string { return r.Values().Encode() }

// ParseRequest parses the parameters of a request to a site with the given info (formats §6.2). The
// error is an *Error with status 400 or 501, and names the parameter at fault. The caller checks
// the credentials.
func ParseRequest(values url.Values, info *Info) (Request, error) {
	given, err := known(values)
	if err != nil {
		return Request{}, err
	}
	r := Request{Credentials: Credentials{given[paramRegistered], Key(given[paramKey])}}
	if given[paramAction] == "" {
		return Request{}, bad(paramAction, "missing")
	}
	for _, a := range []Action{Register, Unregister, ModifyPreferences, GetSequenceNumber, GetIndex} {
		if lower(given[paramAction]) == lower(string(a)) {
			r.Action = a
		}
	}
	switch r.Action {
	case Register:
		r.Credentials = Credentials{}
		if given[paramEmail] == "" {
			return Request{}, bad(paramEmail, "missing")
		}
		r.Preferences, err = readPreferences(given, info)
	case ModifyPreferences:
		if r.Preferences, err = readPreferences(given, info); err == nil {
			err = needCredentials(r.Credentials)
		}
	case Unregister, GetSequenceNumber:
		err = needCredentials(r.Credentials)
	case GetIndex:
		r.Span, err = readSpan(given, info)
		if err == nil && r.Credentials != (Credentials{}) {
			err = needCredentials(r.Credentials)
		}
	default:
		err = notImplemented(paramAction, "unknown")
	}
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// known selects the known parameters, ignoring case. A repeated parameter is refused, because
// either value could be intended.
func known(values url.Values) (map[string]string, error) {
	given := map[string]string{}
	for name, list := range values {
		for _, known := range paramNames {
			if len(name) != len(known) || lower(name) != lower(known) {
				continue
			}
			if _, twice := given[known]; twice || len(list) > 1 {
				return nil, bad(known, "it is given more than once")
			}
			given[known] = list[0]
		}
	}
	return given, nil
}

func needCredentials(c Credentials) error {
	switch {
	case c.Key == "":
		return bad(paramKey, "missing")
	case c.Email == "":
		return bad(paramRegistered, "missing")
	}
	return nil
}

func readPreferences(given map[string]string, info *Info) (p Preferences, err error) {
	if email, ok := given[paramEmail]; ok {
		if err := CheckEmail(email); err != nil {
			return p, bad(paramEmail, "%v", err)
		}
		p.Email = email
	}
	if latency, ok := given[paramLatency]; ok {
		if p.Latency, err = ParseLatency(latency); err != nil {
			return p, bad(paramLatency, "%v", err)
		}
		if !offersLatency(info, p.Latency) {
			return p, bad(paramLatency, "unit %s is not offered at %s", p.Latency.Unit, InfoPath)
		}
	}
	if strings.TrimSpace(given[paramExclude]) != "" && strings.TrimSpace(given[paramIncludeOnly]) != "" {
		return p, bad(paramIncludeOnly, "%v", errBoth)
	}
	read := func(name string, offered []string) ([]string, error) {
		text, ok := given[name]
		if !ok {
			return nil, nil
		}
		patterns := strings.Fields(text)
		switch {
		case len(patterns) == 0:
			return []string{}, nil
		case len(offered) == 0:
			return nil, notImplemented(name, "it is not offered at %s", InfoPath)
		}
		if err := accepts(offered, patterns); err != nil {
			return nil, bad(name, "%v", err)
		}
		return patterns, nil
	}
	if p.Exclude, err = read(paramExclude, info.Exclude); err != nil {
		return p, err
	}
	if p.IncludeOnly, err = read(paramIncludeOnly, info.IncludeOnly); err != nil {
		return p, err
	}
	name := paramExclude
	if len(p.IncludeOnly) > 0 {
		name = paramIncludeOnly
	}
	if _, err := NewFilter(p.Exclude, p.IncludeOnly); err != nil {
		return p, bad(name, "%v", err)
	}
	return p, nil
}

// offersLatency reports whether a site accepts a latency. A site that offers no unit accepts its
// default.
func offersLatency(info *Info, l Latency) bool {
	if offers(info.Latency, l.Unit) {
		return true
	}
	return len(info.Latency) == 0 && l.Unit == info.DefaultLatency().Unit
}

func readSpan(given map[string]string, info *Info) (Span, error) {
	if info.MaxQuerySpan == (Span{}) {
		return Span{}, notImplemented(paramAction, "this site does not keep a modification log")
	}
	text := given[paramSpan]
	if text == "" {
		return Span{}, bad(paramSpan, "missing")
	}
	span, err := ParseSpan(text)
	if err != nil {
		return Span{}, bad(paramSpan, "%v", err)
	}
	if span.Days() > info.MaxQuerySpan.Days() {
		return Span{}, bad(paramSpan, "%s is longer than MaxQuerySpan, %s", span, info.MaxQuerySpan)
	}
	return span, nil
}
