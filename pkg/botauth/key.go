package botauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// MaxKeyFile is the largest file with a private key, in bytes.
const MaxKeyFile = 16 << 10

// testKeys are published with their private halves, in RFC 9421 §B.1, so anybody can sign with
// them.
var testKeys = map[string]bool{
	"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U": true, // test-key-ed25519
	"oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA": true, // test-key-rsa-pss
}

// TestKey reports whether a thumbprint belongs to a key whose private half is public.
func TestKey(thumbprint string) bool { return testKeys[thumbprint] }

// ErrTestKey is why a key is refused that a document has published.
var ErrTestKey = errors.New("this is a test key of RFC 9421, and its private half is public; make your own key with curtsy identity --new-key FILE")

// Key is a private Ed25519 key. Its private half appears in no error, log, dump or JSON.
type Key struct {
	private ed25519.PrivateKey
	id      string
}

// NewKey makes a key out of 32 random bytes.
func NewKey(random io.Reader) (*Key, error) {
	_, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, err
	}
	return keyOf(private), nil
}

func keyOf(private ed25519.PrivateKey) *Key {
	return &Key{private, Thumbprint(private.Public().(ed25519.PublicKey))}
}

// ID is the key's thumbprint (RFC 7638, RFC 8037 §A.3), by which origins identify it.
func (k *Key) ID() string { return k.id }

// Public returns the public half.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// SignMessage returns the Ed25519 signature of a message that is no HTTP request. The message must
// begin with a line that no signature base of RFC 9421 begins with, so that neither signature can
// be used as the other.
func (k *Key) SignMessage(message []byte) []byte { return ed25519.Sign(k.private, message) }

// String names the key without revealing it.
func (k *Key) String() string { return "[key " + k.id + "]" }

// GoString hides the key from %#v.
func (k *Key) GoString() string { return k.String() }

// Format hides the key from every other verb.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue hides the key from slog.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText hides the key from JSON and YAML.
func (k *Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// PEM returns the form of the key in a file, which openssl reads too.
func (k *Key) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey parses a private key: PEM with PKCS #8, as curtsy identity and openssl genpkey write it,
// or a JWK. Test keys are refused. No error contains anything of the file.
func ParseKey(file []byte) (*Key, error) {
	k, err := parseKey(file)
	if err == nil && TestKey(k.id) {
		return nil, ErrTestKey
	}
	return k, err
}

func parseKey(file []byte) (*Key, error) {
	if len(file) > MaxKeyFile {
		return nil, fmt.Errorf("it is longer than %d bytes, so it is not a key", MaxKeyFile)
	}
	if block, _ := pem.Decode(file); block != nil {
		if block.Type != "PRIVATE KEY" {
			return nil, fmt.Errorf("it contains a PEM block %.40q; use a PRIVATE KEY (PKCS #8), for example from openssl genpkey -algorithm ed25519", block.Type)
		}
		any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("its PEM block is not a PKCS #8 key")
		}
		private, ok := any.(ed25519.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("it is a key of another kind (%T); use an Ed25519 key, for example from openssl genpkey -algorithm ed25519", any)
		}
		return keyOf(private), nil
	}
	var j struct {
		JWK
		N string `json:"n"`
		E string `json:"e"`
		D string `json:"d"`
	}
	if json.Unmarshal(file, &j) != nil {
		return nil, errors.New("it is neither PEM nor a JWK; make a key with curtsy identity --new-key FILE")
	}
	if j.KTY == "RSA" && TestKey(thumbprint(fmt.Sprintf(`{"e":%q,"kty":"RSA","n":%q}`, j.E, j.N))) {
		return nil, ErrTestKey
	}
	public, err := j.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := base64.RawURLEncoding.DecodeString(j.D)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("it is a JWK without the private part d of 32 bytes")
	}
	k := keyOf(ed25519.NewKeyFromSeed(seed))
	if !k.Public().Equal(public) {
		return nil, errors.New("it is a JWK whose parts d and x belong to different keys")
	}
	return k, nil
}

// Thumbprint identifies a public key: the SHA-256 of its JWK (RFC 7638, RFC 8037 §A.3).
func Thumbprint(public ed25519.PublicKey) string {
	return thumbprint(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`)
}

func thumbprint(members string) string {
	sum := sha256.Sum256([]byte(members))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
