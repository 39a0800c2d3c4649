package credentials

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/curtsy/curtsy/pkg/canon"
)

// A file that exceeds a limit is refused.
const (
	// MaxFile is the largest size of the file, and of each file that it names, in bytes.
	MaxFile = 1 << 20
	// MaxSites is how many sites the file may name.
	MaxSites = 10_000
	// MaxHeader is how many bytes of header fields, cookies included, a site may have.
	MaxHeader = 16 << 10
)

// ReadFile reads a file of credentials. Relative names of other files start from its folder.
func ReadFile(name string) (*Set, error) {
	body, err := ReadPrivate(name, MaxFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("the file does not exist")
	}
	if err != nil {
		return nil, err
	}
	return Parse(body, filepath.Dir(name))
}

// Parse reads credentials in YAML. Relative names of files start from dir. Errors say where and
// what the problem is, and quote nothing that may be a secret.
func Parse(body []byte, dir string) (*Set, error) {
	if len(body) > MaxFile {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(body))
	err := dec.Decode(&doc)
	if err == nil {
		var second yaml.Node
		if dec.Decode(&second) != io.EOF {
			err = errors.New("there is a second document in the file")
		}
	}
	if err != nil {
		return nil, badYAML(err)
	}
	p := &parser{dir: dir, set: &Set{exact: map[canon.Origin]*Site{}, under: map[canon.Origin]*Site{}}}
	if err := p.top(doc.Content[0]); err != nil {
		return nil, err
	}
	return p.set, nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// badYAML describes where YAML is invalid. The error of the library is not used, because it may
// quote the text.
func badYAML(err error) error {
	if err == io.EOF {
		return errors.New(`it is empty; write "sites:", and below it for example "https://docs.example.org: {basic: {user: me, password: \"…\"}}"`)
	}
	where := ""
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		where = " near line " + m[1]
	}
	return fmt.Errorf("it is not valid YAML%s; put values into quotes", where)
}

type parser struct {
	dir string
	set *Set
}

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...)
}

// each calls do for the keys of a mapping. A key that occurs twice is an error.
func each(n *yaml.Node, where string, do func(key, val *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, `%s: expected lines like "name: value" below it`, where)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Anchor != "" {
			return at(k, "%s: a name is expected here", where)
		}
		if seen[k.Value] {
			return at(k, "%s: a name is given twice", where)
		}
		seen[k.Value] = true
		if err := do(k, v); err != nil {
			return err
		}
	}
	return nil
}

// text returns a value as it is written.
func text(n *yaml.Node, where string) (string, error) {
	// "&x", "*x" and "!x" have a meaning in YAML, and a password may begin with them.
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return "", at(n, "%s: a text is expected here; put it into quotes", where)
	}
	if n.Value == "" || n.Tag == "!!null" {
		return "", at(n, "%s is empty; give it a value in quotes, or leave the line out", where)
	}
	if !utf8.ValidString(n.Value) || strings.ContainsFunc(n.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", at(n, "%s contains a line break or another control character", where)
	}
	return n.Value, nil
}

func (p *parser) top(n *yaml.Node) error {
	return each(n, "the file", func(k, v *yaml.Node) error {
		switch k.Value {
		case "sites":
			return each(v, "sites", p.site)
		case "proxy":
			return p.proxy(v)
		}
		return at(k, "only sites: and proxy: are allowed here")
	})
}

// origin reads the name of a site. If below is set, it stands for all hosts below that one.
func origin(name string) (o canon.Origin, below bool, err error) {
	const example = "use for example https://docs.example.org, or https://*.example.org for all hosts below"
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return o, false, errors.New("a site must be written with its scheme and host; " + example)
	}
	if strings.ContainsAny(rest, `@/\?#`) {
		return o, false, errors.New("a site must have only a scheme, a host and a port; " + example)
	}
	host, below := strings.CutPrefix(rest, "*.")
	u, err := canon.Parse(scheme + "://" + host + "/")
	if err != nil || strings.Contains(host, "*") {
		return o, false, errors.New("this is not a host; " + example)
	}
	o = u.Origin()
	if !below {
		return o, false, nil
	}
	if o.Host.IsIP() {
		return o, false, errors.New("an IP address has no subdomains; " + example)
	}
	if o.Host.IsPublicSuffix() {
		return o, false, errors.New("anyone can register a name below this suffix; " + example)
	}
	return o, true, nil
}

func (p *parser) site(k, v *yaml.Node) error {
	o, below, err := origin(k.Value)
	if err != nil {
		return at(k, "%w", err)
	}
	if len(p.set.exact)+len(p.set.under) >= MaxSites {
		return at(k, "more than %d sites", MaxSites)
	}
	s := &Site{name: o.String(), header: http.Header{}}
	into := p.set.exact
	if below {
		s.name, into = o.Scheme+"://*."+strings.TrimPrefix(o.String(), o.Scheme+"://"), p.set.under
	}
	if into[o] != nil {
		return at(k, "%s is given twice", s.name)
	}
	into[o] = s
	return p.fill(s, o, v)
}

// fill reads the credentials of a site.
func (p *parser) fill(s *Site, o canon.Origin, n *yaml.Node) error {
	var cert, key, ca string
	err := each(n, s.name, func(k, v *yaml.Node) (err error) {
		if fromFile := map[string]*string{"cert": &cert, "key": &key, "ca": &ca}[k.Value]; fromFile != nil {
			if o.Scheme != "https" {
				return at(k, "%s is only for https", k.Value)
			}
			*fromFile, err = text(v, k.Value)
			return err
		}
		switch k.Value {
		case "basic":
			return basic(s.header, v)
		case "bearer":
			return bearer(s.header, v)
		case "headers":
			return each(v, "headers", func(k, v *yaml.Node) error { return field(s.header, k, v) })
		case "cookies":
			return cookies(s.header, v)
		}
		return at(k, "%s: only basic, bearer, headers, cookies, cert, key and ca are allowed here", s.name)
	})
	if err != nil {
		return err
	}
	if s.HeaderBytes() > MaxHeader {
		return at(n, "%s: more than %d bytes of header fields", s.name, MaxHeader)
	}
	if (cert == "") != (key == "") {
		return at(n, "%s: cert and key must be given together", s.name)
	}
	if ca != "" {
		if s.roots, err = p.authorities(ca); err != nil {
			return at(n, "%s: ca: %w", s.name, err)
		}
	}
	if cert != "" {
		if s.cert, err = p.certificate(cert, key); err != nil {
			return at(n, "%s: %w", s.name, err)
		}
	}
	if !s.HasHeader() && !s.HasTLS() {
		return at(n, "%s: there are no credentials; write basic, bearer, headers, cookies, cert and key, or ca below it", s.name)
	}
	return nil
}

// set sets a header field, unless it is set already.
func set(h http.Header, n *yaml.Node, name, value string) error {
	if len(h[name]) > 0 {
		return at(n, "%s is given twice: basic and bearer set the header field Authorization, and cookies set Cookie", name)
	}
	if !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value {
		return at(n, "the value of %s is not allowed in a header field", name)
	}
	h[name] = []string{value}
	return nil
}

// login reads a user name and a password.
func login(n *yaml.Node, where string, more func(k, v *yaml.Node) (known bool, err error)) (user, password string, err error) {
	err = each(n, where, func(k, v *yaml.Node) (err error) {
		switch k.Value {
		case "user":
			user, err = text(v, "user")
		case "password":
			password, err = text(v, "password")
		default:
			if known, err := more(k, v); known || err != nil {
				return err
			}
			return at(k, "%s has user and password", where)
		}
		return err
	})
	if err == nil && strings.Contains(user, ":") {
		err = at(n, "%s: the user name must not contain a colon", where)
	}
	return user, password, err
}

func basic(h http.Header, n *yaml.Node) error {
	user, password, err := login(n, "basic", func(_, _ *yaml.Node) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	if user == "" && password == "" {
		return at(n, "basic: write user and password below it")
	}
	return set(h, n, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

var tokenRE = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750 §2.1

func bearer(h http.Header, n *yaml.Node) error {
	token, err := text(n, "bearer")
	if err != nil {
		return err
	}
	if !tokenRE.MatchString(token) {
		return at(n, "bearer is not a token (RFC 6750); for another scheme write the whole header field: headers: {Authorization: …}")
	}
	return set(h, n, "Authorization", "Bearer "+token)
}

// ours are the header fields that credentials may not set: they identify us, frame the message, or
// determine the meaning of the request.
var ours = []string{"Accept", "Accept-Encoding", "Connection", "Expect", "Host", "Keep-Alive", "Range", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "User-Agent", "Signature", "Signature-Input", "Signature-Agent"}

func field(h http.Header, k, v *yaml.Node) error {
	name := http.CanonicalHeaderKey(k.Value)
	switch {
	case !httpguts.ValidHeaderFieldName(k.Value):
		return at(k, "headers: this is not a valid name of a header field")
	case slices.Contains(ours, name) || strings.HasPrefix(name, "If-") || strings.HasPrefix(name, "Content-") || strings.HasPrefix(name, "Proxy-"):
		return at(k, "headers: Curtsy sets %s itself; it cannot be set here", name)
	}
	value, err := text(v, name)
	if err != nil {
		return err
	}
	return set(h, v, name, value)
}

func cookies(h http.Header, n *yaml.Node) error {
	var all []string
	err := each(n, "cookies", func(k, v *yaml.Node) error {
		value, err := text(v, "a cookie")
		if err != nil {
			return err
		}
		// RFC 6265 §4.1.1. Spaces and commas are allowed too, because browsers send them.
		if !httpguts.ValidHeaderFieldName(k.Value) || strings.ContainsAny(value, `;"\`) || !ascii(value) {
			return at(v, "cookies: this cookie cannot be sent; copy its name and value as the browser shows them")
		}
		all = append(all, k.Value+"="+value)
		return nil
	})
	if err != nil {
		return err
	}
	return set(h, n, "Cookie", strings.Join(all, "; "))
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func (p *parser) proxy(n *yaml.Node) error {
	l, ca := new(Login), ""
	var err error
	l.user, l.password, err = login(n, "proxy", func(k, v *yaml.Node) (bool, error) {
		if k.Value != "ca" {
			return false, nil
		}
		var err error
		ca, err = text(v, "ca")
		return true, err
	})
	if err != nil {
		return err
	}
	if len(l.user) > 255 || len(l.password) > 255 {
		return at(n, "proxy: user and password may have at most 255 bytes each")
	}
	if ca != "" {
		if l.roots, err = p.authorities(ca); err != nil {
			return at(n, "proxy: ca: %w", err)
		}
	}
	p.set.login = l
	return nil
}

// path returns the path of a file that the file of credentials names.
func (p *parser) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.dir, name)
}

func (p *parser) authorities(name string) (*x509.CertPool, error) {
	body, err := p.public(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(body) {
		return nil, fmt.Errorf("%s contains no PEM certificates", p.path(name))
	}
	return pool, nil
}

// public reads a file that contains no secret.
func (p *parser) public(name string) ([]byte, error) {
	f, err := os.Open(p.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(body) > MaxFile {
		err = fmt.Errorf("%s has more than %d bytes", p.path(name), MaxFile)
	}
	return body, err
}

func (p *parser) certificate(cert, key string) (*tls.Certificate, error) {
	private, err := ReadPrivate(p.path(key), MaxFile)
	if err != nil {
		return nil, fmt.Errorf("key: %s: %w", p.path(key), err)
	}
	public, err := p.public(cert)
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return nil, fmt.Errorf("cert and key: %w", err)
	}
	return &pair, nil
}
