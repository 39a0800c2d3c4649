package botauth

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// Why is the problem of a signature, in one word.
type Why string

// The possible problems, in the order in which they are checked.
const (
	WhyNothing    Why = ""           // it is valid
	WhySyntax     Why = "syntax"     // a field cannot be read
	WhyTag        Why = "tag"        // it is a signature for another purpose
	WhyPlain      Why = "plain"      // the request came over plain http
	WhyParameters Why = "parameters" // created, expires or keyid is missing or invalid
	WhyAlgorithm  Why = "algorithm"  // it is not Ed25519
	WhyComponents Why = "components" // a required component is missing, here or in the message
	WhyAgent      Why = "agent"      // it does not identify the owner of the key
	WhyFuture     Why = "future"     // it was made later than now
	WhyExpired    Why = "expired"    // its time is over
	WhyTestKey    Why = "test-key"   // everybody could have made it
	WhyKey        Why = "key"        // the key is unknown, or not valid now
	WhySignature  Why = "signature"  // it does not match the key and the message
)

// MaxLifetime is the longest accepted time from created to expires.
const MaxLifetime = 24 * time.Hour

// Policy is what a verifier accepts.
type Policy struct {
	Now time.Time
	// Skew is how far the signer's clock may be off.
	Skew time.Duration
	// MaxLifetime replaces the constant with that name; 0 means that the constant applies.
	MaxLifetime time.Duration
	// TestKeys accepts the keys of RFC 9421, for its examples.
	TestKeys bool
	// Key looks up the key of an agent. The agent's address must be part of the lookup: with the
	// thumbprint alone, one agent's key could be mistaken for another's.
	Key func(agent string, form Form, id string) (ed25519.PublicKey, error)
}

// Verdict is the result for one signature.
type Verdict struct {
	Label   string
	Why     Why    // WhyNothing: the signature is valid
	Text    string // the problem, for people
	Agent   string // address of the signing agent
	Form    Form
	KeyID   string
	Nonce   string // to prevent replays, a verifier remembers it until Expires
	Created time.Time
	Expires time.Time
	Covered []string // identifiers of the components
	Notes   []string // oddities without effect
	Base    string   // the text that was signed, for this message
}

// Good reports whether the signature is valid.
func (v Verdict) Good() bool { return v.Why == WhyNothing }

func (v *Verdict) refuse(why Why, format string, args ...any) {
	v.Why, v.Text = why, fmt.Sprintf(format, args...)
}

// ErrUnsigned means that a request has no signature.
var ErrUnsigned = errors.New("the request carries no Signature-Input and no Signature")

// Verify checks each signature of a request, in the order of their labels in Signature-Input. An
// error means that there is none, or that the fields cannot be parsed. Each signature is checked
// independently.
func Verify(m *Message, p Policy) ([]Verdict, error) {
	inputs, signatures := fieldLines(m, FieldInput), fieldLines(m, FieldSignature)
	if len(inputs) == 0 && len(signatures) == 0 {
		return nil, ErrUnsigned
	}
	in, err := dictionary(inputs)
	if err != nil {
		return nil, fmt.Errorf("Signature-Input cannot be read: %w", err)
	}
	sig, err := dictionary(signatures)
	if err != nil {
		return nil, fmt.Errorf("Signature cannot be read: %w", err)
	}
	if len(in.Names()) > maxSignatures {
		return nil, fmt.Errorf("Signature-Input has more than %d signatures", maxSignatures)
	}
	var list []Verdict
	for _, name := range in.Names() {
		v := Verdict{Label: name}
		v.judge(m, p, in, sig)
		list = append(list, v)
	}
	for _, name := range sig.Names() {
		if _, ok := in.Get(name); !ok {
			v := Verdict{Label: name}
			v.refuse(WhySyntax, "it is in Signature but not in Signature-Input")
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil, ErrUnsigned
	}
	return list, nil
}

func fieldLines(m *Message, name string) (lines []string) {
	for field, values := range m.Header {
		if strings.EqualFold(field, name) {
			lines = append(lines, values...)
		}
	}
	return lines
}

func (v *Verdict) judge(m *Message, p Policy, in, sig *httpsfv.Dictionary) {
	member, _ := in.Get(v.Label)
	covered, ok := member.(httpsfv.InnerList)
	if !ok {
		v.refuse(WhySyntax, "Signature-Input: its value is not a list of components")
		return
	}
	signature, ok := bytesOf(sig, v.Label)
	if !ok {
		v.refuse(WhySyntax, "Signature: it is missing or is not a byte sequence")
		return
	}
	if tag, _ := text(covered.Params, "tag"); tag != Tag {
		v.refuse(WhyTag, "its tag is %.40q, not %s", tag, Tag)
		return
	}
	if m.Scheme != "https" {
		v.refuse(WhyPlain, "it was sent over plain http, where anyone could read it")
		return
	}
	if !v.parameters(covered.Params, p) || !v.components(m, covered) || !v.times(p) {
		return
	}
	if TestKey(v.KeyID) && !p.TestKeys {
		v.refuse(WhyTestKey, "%s is a test key of RFC 9421, so anyone can sign with it", v.KeyID)
		return
	}
	text, err := base(m, covered)
	if err != nil {
		v.refuse(WhyComponents, "%v", err)
		return
	}
	v.Base = text
	key, err := p.Key(v.Agent, v.Form, v.KeyID)
	switch {
	case err != nil:
		v.refuse(WhyKey, "%v", err)
	case len(key) != ed25519.PublicKeySize || Thumbprint(key) != v.KeyID:
		v.refuse(WhyKey, "the key that was found has another ID than keyid")
	case !ed25519.Verify(key, []byte(text), signature):
		v.refuse(WhySignature, "it was made from another message or with another key")
	}
}

// parameters reads the signature's parameters.
func (v *Verdict) parameters(params *httpsfv.Params, p Policy) bool {
	created, hasCreated := number(params, "created")
	expires, hasExpires := number(params, "expires")
	var hasKey bool
	v.KeyID, hasKey = text(params, "keyid")
	v.Nonce, _ = text(params, "nonce")
	longest := p.MaxLifetime
	if longest == 0 {
		longest = MaxLifetime
	}
	switch {
	case !hasCreated || !hasExpires:
		v.refuse(WhyParameters, "created or expires is missing or is not an integer")
		return false
	case !hasKey:
		v.refuse(WhyParameters, "keyid is missing or is not a String")
		return false
	}
	v.Created, v.Expires = time.Unix(created, 0).UTC(), time.Unix(expires, 0).UTC()
	if alg, ok := text(params, "alg"); ok && alg != "ed25519" {
		v.refuse(WhyAlgorithm, "alg is %.40q; it must be ed25519", alg)
		return false
	}
	switch life := expires - created; {
	case life <= 0:
		v.refuse(WhyParameters, "it expires before it was created")
		return false
	case life > int64(longest/time.Second):
		v.refuse(WhyParameters, "it is valid for %d s; the limit is %v", life, longest)
		return false
	}
	return true
}

// components checks that authority and agent are covered, and reads the agent.
func (v *Verdict) components(m *Message, covered httpsfv.InnerList) bool {
	bound := false
	agents := 0
	var agent httpsfv.Item
	for _, item := range covered.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			v.refuse(WhySyntax, "%v", err)
			return false
		}
		v.Covered = append(v.Covered, id)
		switch item.Value {
		case "@authority", "@target-uri":
			bound = bound || len(item.Params.Names()) == 0
		case "signature-agent":
			agent, agents = item, agents+1
		}
	}
	switch {
	case !bound:
		v.refuse(WhyComponents, "it covers neither @authority nor @target-uri, so it would be valid for any site")
		return false
	case agents == 0:
		v.refuse(WhyComponents, "it does not cover signature-agent")
		return false
	case agents > 1:
		v.refuse(WhyComponents, "it covers signature-agent more than once")
		return false
	}
	if err := v.agent(m, agent); err != nil {
		v.refuse(WhyAgent, "%s: %v", FieldAgent, err)
		return false
	}
	return true
}

// agent reads the agent's address from the covered part of the field.
func (v *Verdict) agent(m *Message, covered httpsfv.Item) error {
	lines := fieldLines(m, FieldAgent)
	if len(lines) == 0 {
		return errors.New("the request does not have it")
	}
	key, keyed := text(covered.Params, "key")
	if !keyed {
		item, err := httpsfv.UnmarshalItem(lines)
		address, ok := item.Value.(string)
		if err != nil || !ok {
			return errors.New("it is not a String; to cover a member of a Dictionary, use ;key")
		}
		v.Form = FormString
		v.Agent, err = ParseAgent(address, FormString)
		return err
	}
	d, err := dictionary(lines)
	if err != nil {
		return errors.New("it is covered as a Dictionary, but it is not one")
	}
	member, ok := d.Get(key)
	item, isItem := member.(httpsfv.Item)
	address, isText := item.Value.(string)
	if !ok || !isItem || !isText {
		return fmt.Errorf("its member %.40q is missing or is not a String", key)
	}
	if key != v.Label {
		v.Notes = append(v.Notes, fmt.Sprintf("the covered member is %s but the label is %s; newer drafts require the same name for both", key, v.Label))
	}
	v.Form = FormDictionary
	if _, err := ParseAgent(address, FormDictionary); err != nil {
		v.Form = FormJWKS
	}
	switch kind, _ := item.Params.Get("type"); kind {
	case nil:
	case httpsfv.Token("directory"):
		v.Form = FormDictionary
	case httpsfv.Token("jwks_uri"):
		v.Form = FormJWKS
	default:
		return errors.New("its type is unknown")
	}
	v.Agent, err = ParseAgent(address, v.Form)
	return err
}

// times compares the signature's times with the clock.
func (v *Verdict) times(p Policy) bool {
	if ahead := v.Created.Sub(p.Now); ahead > p.Skew {
		v.refuse(WhyFuture, "it was created %v in the future, so one of the two clocks is wrong", ahead.Round(time.Second))
		return false
	}
	if past := p.Now.Sub(v.Expires); past >= p.Skew {
		v.refuse(WhyExpired, "it expired %v ago", past.Round(time.Second))
		return false
	}
	return true
}

func text(params *httpsfv.Params, name string) (string, bool) {
	v, _ := params.Get(name)
	s, ok := v.(string)
	return s, ok
}

func number(params *httpsfv.Params, name string) (int64, bool) {
	v, _ := params.Get(name)
	n, ok := v.(int64)
	return n, ok && n >= 0
}

func bytesOf(d *httpsfv.Dictionary, label string) ([]byte, bool) {
	member, _ := d.Get(label)
	item, _ := member.(httpsfv.Item)
	b, ok := item.Value.([]byte)
	return b, ok
}
