package botauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// DirectoryPath is where an origin fetches an agent's keys.
	DirectoryPath = "/.well-known/http-message-signatures-directory"
	// DirectoryType is the media type of the directory.
	DirectoryType = "application/http-message-signatures-directory+json"
	// DirectoryTag marks a signature that proves the possession of a directory's keys.
	DirectoryTag = "http-message-signatures-directory"
	// MaxDirectory is how many bytes of a directory are read.
	MaxDirectory = 64 << 10
	// maxKeys is how many keys of a directory are read.
	maxKeys = 64
)

// JWK is a public key in a directory (RFC 7517, RFC 8037).
type JWK struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	KID string `json:"kid,omitempty"`
	X   string `json:"x"`
	Use string `json:"use,omitempty"`
	NBF int64  `json:"nbf,omitempty"` // Unix seconds before which it is not valid
	EXP int64  `json:"exp,omitempty"` // Unix seconds from which on it is not valid
}

// PublicKey returns the key, if it is an Ed25519 key.
func (j JWK) PublicKey() (ed25519.PublicKey, error) {
	if j.KTY != "OKP" || j.CRV != "Ed25519" {
		return nil, fmt.Errorf("it is not an Ed25519 key (kty %.20q, crv %.20q)", j.KTY, j.CRV)
	}
	x, err := base64.RawURLEncoding.Strict().DecodeString(j.X)
	if err != nil || len(x) != ed25519.PublicKeySize {
		return nil, errors.New("its x is not 32 bytes in base64url")
	}
	return x, nil
}

// Directory is an agent's public keys.
type Directory struct {
	Keys []JWK `json:"keys"`
}

// NewDirectory lists keys in the form in which they are published.
func NewDirectory(keys ...*Key) Directory {
	var d Directory
	for _, k := range keys {
		d.Keys = append(d.Keys, JWK{KTY: "OKP", CRV: "Ed25519", KID: k.ID(), X: base64.RawURLEncoding.EncodeToString(k.Public()), Use: "sig"})
	}
	return d
}

// JSON returns the directory as it is served. The same keys give the same bytes.
func (d Directory) JSON() ([]byte, error) { return json.Marshal(d) }

// ParseDirectory parses a directory. Unusable keys are left out, with a reason in diagnostics. Only
// a body that is not a key set is an error.
func ParseDirectory(body []byte) (d Directory, diagnostics []string, err error) {
	if len(body) > MaxDirectory {
		return d, nil, fmt.Errorf("it is longer than %d bytes", MaxDirectory)
	}
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &raw); err != nil || raw.Keys == nil {
		return d, nil, errors.New(`it is not a key set; a key set looks like {"keys":[...]}`)
	}
	for i, r := range raw.Keys {
		odd := func(why string) { diagnostics = append(diagnostics, fmt.Sprintf("key %d: %s", i+1, why)) }
		if i >= maxKeys {
			odd(fmt.Sprintf("this key and all keys after it are ignored: the limit is %d keys", maxKeys))
			break
		}
		var j JWK
		if json.Unmarshal(r, &j) != nil {
			odd("it is not a JWK")
			continue
		}
		public, err := j.PublicKey()
		switch {
		case err != nil:
			odd(err.Error())
			continue
		case j.Use != "" && j.Use != "sig":
			odd("it is not meant for signatures (use is not sig)")
			continue
		case j.KID != "" && j.KID != Thumbprint(public):
			odd("its kid differs from its thumbprint, " + Thumbprint(public))
		}
		d.Keys = append(d.Keys, j)
	}
	return d, diagnostics, nil
}

// Key returns the key with a thumbprint, if the directory has it and it is valid now.
func (d Directory) Key(id string, now time.Time) (ed25519.PublicKey, error) {
	for _, j := range d.Keys {
		public, err := j.PublicKey()
		if err != nil || Thumbprint(public) != id {
			continue
		}
		switch {
		case j.NBF != 0 && now.Unix() < j.NBF:
			return nil, fmt.Errorf("key %s is not valid before %s", id, time.Unix(j.NBF, 0).UTC().Format(time.RFC3339))
		case j.EXP != 0 && now.Unix() >= j.EXP:
			return nil, fmt.Errorf("key %s was valid until %s", id, time.Unix(j.EXP, 0).UTC().Format(time.RFC3339))
		}
		return public, nil
	}
	return nil, fmt.Errorf("the directory has no key %.60q", id)
}

// SignDirectory makes the header with which a directory is served at an authority: its type, and
// the proof that the server has the keys, with one signature of each key over the authority and the
// content. The proof is valid until expires; then the header must be made again.
func SignDirectory(body []byte, authority string, created, expires time.Time, keys ...*Key) http.Header {
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	var inputs, signatures []string
	for i, k := range keys {
		label := "binding"
		if i > 0 {
			label += strconv.Itoa(i + 1)
		}
		params := fmt.Sprintf(`("@authority";req "content-digest");created=%d;expires=%d;keyid="%s";tag="%s"`, created.Unix(), expires.Unix(), k.ID(), DirectoryTag)
		text := `"@authority";req: ` + Authority("https", authority) + "\n\"content-digest\": " + digest + "\n\"@signature-params\": " + params
		inputs = append(inputs, label+"="+params)
		signatures = append(signatures, label+"=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, []byte(text)))+":")
	}
	return http.Header{
		"Content-Type":   {DirectoryType},
		"Cache-Control":  {"max-age=86400"},
		"Content-Digest": {digest},
		FieldInput:       {strings.Join(inputs, ", ")},
		FieldSignature:   {strings.Join(signatures, ", ")},
	}
}
