package botauth

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// Lifetime is how long a signature is valid.
	Lifetime = time.Minute
	// NonceBytes is how many random bytes a nonce has.
	NonceBytes = 64
	// label is the name of our one signature.
	label = "sig1"
)

// Signer signs requests for an agent.
type Signer struct {
	key     *Key
	agent   string
	form    Form
	label   string
	covered []string // identifiers of the components, as they are written
	field   string   // the Signature-Agent field
	member  string   // the covered part of it
}

// NewSigner makes a Signer. The agent is an address that [ParseAgent] accepts.
func NewSigner(key *Key, agent string, form Form) (*Signer, error) {
	if TestKey(key.ID()) {
		return nil, ErrTestKey
	}
	return newSigner(key, agent, form, label, `"@authority"`, `"@method"`, `"@path"`)
}

// newSigner makes a Signer that covers these components, and the agent.
func newSigner(key *Key, agent string, form Form, label string, covered ...string) (*Signer, error) {
	agent, err := ParseAgent(agent, form)
	if err != nil {
		return nil, err
	}
	s := &Signer{key: key, agent: agent, form: form, label: label, member: `"` + agent + `"`}
	s.field = s.member
	id := `"signature-agent"`
	if form != FormString {
		s.field = label + "=" + s.member
		id += `;key="` + label + `"`
	}
	s.covered = append(covered, id)
	return s, nil
}

// Agent is the address of the agent that signs requests.
func (s *Signer) Agent() string { return s.agent }

// Form is the form of the Signature-Agent field.
func (s *Signer) Form() Form { return s.form }

// KeyID is the thumbprint of the key.
func (s *Signer) KeyID() string { return s.key.ID() }

// LogValue names the agent and the key without revealing the key.
func (s *Signer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("agent", s.agent), slog.String("form", string(s.form)), slog.String("keyid", s.KeyID()))
}

// Signed are the three fields of a signed request.
type Signed struct{ Agent, Input, Signature string }

// Set puts the fields into a header, replacing existing ones.
func (f Signed) Set(h http.Header) {
	h[FieldAgent], h[FieldInput], h[FieldSignature] = []string{f.Agent}, []string{f.Input}, []string{f.Signature}
}

// errPlain is why a request is not signed: an eavesdropper could use the signature.
var errPlain = errors.New("only https requests are signed")

// Sign makes the fields for one request that is sent now. nonce has NonceBytes random bytes,
// different for each request. A request that does not use https is not signed.
func (s *Signer) Sign(m *Message, now time.Time, nonce []byte) (Signed, error) {
	if m.Scheme != "https" {
		return Signed{}, errPlain
	}
	return s.sign(m, now.Unix(), now.Add(Lifetime).Unix(), base64.StdEncoding.EncodeToString(nonce))
}

func (s *Signer) sign(m *Message, created, expires int64, nonce string) (Signed, error) {
	if strings.ContainsAny(m.Method+m.Authority+m.Path, "\r\n") {
		return Signed{}, errors.New("the target of the request contains a line break")
	}
	params := make([]byte, 0, 384)
	for i, id := range s.covered {
		sep := byte(' ')
		if i == 0 {
			sep = '('
		}
		params = append(params, sep)
		params = append(params, id...)
	}
	params = append(params, ')')
	params = strconv.AppendInt(append(params, ";created="...), created, 10)
	params = append(append(append(params, `;keyid="`...), s.key.id...), `";alg="ed25519"`...)
	params = strconv.AppendInt(append(params, ";expires="...), expires, 10)
	params = append(append(append(params, `;nonce="`...), nonce...), `";tag="`+Tag+`"`...)

	text := make([]byte, 0, 512+len(params)+len(m.Path))
	for _, id := range s.covered {
		text = append(append(text, id...), ": "...)
		switch id {
		case `"@authority"`:
			text = append(text, Authority(m.Scheme, m.Authority)...)
		case `"@method"`:
			text = append(text, m.Method...)
		case `"@path"`:
			text = append(text, m.Path...)
		default:
			text = append(text, s.member...)
		}
		text = append(text, '\n')
	}
	text = append(append(text, `"@signature-params": `...), params...)
	return Signed{
		Agent:     s.field,
		Input:     s.label + "=" + string(params),
		Signature: s.label + "=:" + base64.StdEncoding.EncodeToString(ed25519.Sign(s.key.private, text)) + ":",
	}, nil
}
