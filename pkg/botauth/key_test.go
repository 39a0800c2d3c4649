package botauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSigning_KeyFiles(t *testing.T) {
	k, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	file, err := k.PEM()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseKey(file); err != nil || got.ID() != k.ID() {
		t.Errorf("PEM: %v, %v", got, err)
	}
	jwk := NewDirectory(testKey(t, 1)).Keys[0]
	const seed = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"
	if got, err := ParseKey([]byte(`{"kty":"OKP","crv":"Ed25519","x":"` + jwk.X + `","d":"` + seed + `"}`)); err != nil || got.ID() != jwk.KID {
		t.Errorf("JWK: %v, %v", got, err)
	}
	curve, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, _ := x509.MarshalPKCS8PrivateKey(curve)
	for name, bad := range map[string]string{
		"nothing":       "",
		"a word":        "secret-word",
		"public JWK":    `{"kty":"OKP","crv":"Ed25519","x":"` + jwk.X + `"}`,
		"other halves":  `{"kty":"OKP","crv":"Ed25519","x":"` + rfcPublic + `","d":"` + seed + `"}`,
		"a short x":     `{"kty":"OKP","crv":"Ed25519","x":"AAAA","d":"` + seed + `"}`,
		"another curve": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"a certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("secret-word")})),
		"broken":        string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret-word")})),
		"too long":      string(file) + strings.Repeat("\n", MaxKeyFile),
	} {
		if got, err := ParseKey([]byte(bad)); err == nil || strings.Contains(err.Error(), "secret-word") || strings.Contains(err.Error(), seed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseKey(append(file, bytes.Repeat([]byte("\n"), MaxKeyFile-len(file))...)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// Keys that RFC 9421 has published are not used for signing.
func TestSigning_8_30_TestKeys(t *testing.T) {
	file, err := rfcKey(t).PEM()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKey(file); !errors.Is(err, ErrTestKey) || !strings.Contains(err.Error(), "--new-key") {
		t.Errorf("PEM: %v", err)
	}
	if _, err := ParseKey([]byte(`{"kty":"OKP","crv":"Ed25519","x":"` + rfcPublic + `","d":"` + rfcSeed + `"}`)); !errors.Is(err, ErrTestKey) {
		t.Errorf("JWK: %v", err)
	}
	if _, err := NewSigner(rfcKey(t), testAgent, FormString); !errors.Is(err, ErrTestKey) {
		t.Errorf("signer: %v", err)
	}
}

// A key is not revealed, however it is printed.
func TestSigning_KeysAreHidden(t *testing.T) {
	k := testKey(t, 1)
	s := testSigner(t, FormString)
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", k, "signer", s, "both", []any{k, s})
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", k, "signer", s)
	fmt.Fprintf(&out, "%v %+v %#v %s %x %q %d", k, k, k, k, k, k, k)
	fmt.Fprintf(&out, "%v %+v %#v", struct{ K *Key }{k}, struct{ S *Signer }{s}, s)
	fmt.Fprintf(&out, "%+v", *s)
	j, err := json.Marshal(map[string]any{"k": k, "s": s})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(j)
	for _, secret := range []string{"AQEBAQEB", "01010101", "1 1 1 1", "0x1, 0x1", `\x01\x01`} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q occurs in %s", secret, out.String())
		}
	}
	if !strings.Contains(out.String(), k.ID()) {
		t.Error("the output does not name the key")
	}
}

func TestSigning_Agents(t *testing.T) {
	for _, c := range []struct {
		raw  string
		form Form
		want string // "": an error
	}{
		{"https://bot.example.org", FormString, "https://bot.example.org"},
		{"https://BOT.example.org:443/", FormDictionary, "https://bot.example.org"},
		{"https://bot.example.org:8443", FormString, "https://bot.example.org:8443"},
		{"https://bot.example.org/keys.json", FormJWKS, "https://bot.example.org/keys.json"},
		{"https://BOT.example.org/Keys?v=1", FormJWKS, "https://bot.example.org/Keys?v=1"},
		{"https://bot.example.org/keys.json", FormString, ""},
		{"https://bot.example.org/", FormJWKS, ""},
		{"https://bot.example.org?x", FormString, ""},
		{"http://bot.example.org", FormString, ""},
		{"bot.example.org", FormString, ""},
		{"https://", FormString, ""},
		{"https://u:p@bot.example.org", FormString, ""},
		{"https://bot.example.org/#x", FormString, ""},
		{`https://bot.example.org/"x`, FormJWKS, ""},
		{"https://bot.example.org/ä", FormJWKS, ""},
		{"https://127.0.0.1", FormString, ""},
		{"https://[::1]/x", FormJWKS, ""},
		{"https://bot.example.org/" + strings.Repeat("a", maxAgent), FormJWKS, ""},
		{"https://bot.example.org/" + strings.Repeat("a", maxAgent-24), FormJWKS, "https://bot.example.org/" + strings.Repeat("a", maxAgent-24)},
		{"https://bot.example.org", "other", ""},
	} {
		got, err := ParseAgent(c.raw, c.form)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%.60s, %s: %.60s, %v", c.raw, c.form, got, err)
		}
	}
}

func TestSigning_8_32_Directories(t *testing.T) {
	a, b := testKey(t, 1), testKey(t, 2)
	d := NewDirectory(a, b)
	d.Keys[0].NBF, d.Keys[0].EXP = testTime.Unix(), testTime.Unix()+60
	body, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	got, odd, err := ParseDirectory(body)
	if err != nil || odd != nil || len(got.Keys) != 2 {
		t.Fatalf("%+v, %q, %v", got, odd, err)
	}
	for after, good := range map[time.Duration]bool{-time.Second: false, 0: true, 59 * time.Second: true, time.Minute: false} {
		if _, err := got.Key(a.ID(), testTime.Add(after)); (err == nil) != good {
			t.Errorf("after %v: %v", after, err)
		}
	}
	if public, err := got.Key(b.ID(), testTime); err != nil || !public.Equal(b.Public()) {
		t.Errorf("the other key: %v", err)
	}
	if _, err := got.Key("nobody's", testTime); err == nil {
		t.Error("a key that is not there")
	}
	for text, want := range map[string]int{
		`{"keys":[]}`: 0, `{"keys":[1,{},{"kty":"RSA"}]}`: 0,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + rfcPublic + `","use":"enc"}]}`:                                   0,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + rfcPublic + `","kid":"mine"}]}`:                                  1,
		`{"keys":[` + strings.Repeat(`{"kty":"OKP","crv":"Ed25519","x":"`+rfcPublic+`"},`, maxKeys) + `{"kty":"none"}]}`: maxKeys,
	} {
		d, odd, err := ParseDirectory([]byte(text))
		if err != nil || len(d.Keys) != want || want != len(d.Keys) || (text != `{"keys":[]}`) != (odd != nil) {
			t.Errorf("%.60s: %d keys, %q, %v", text, len(d.Keys), odd, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"keys":1}`, strings.Repeat(" ", MaxDirectory+1) + `{"keys":[]}`} {
		if _, _, err := ParseDirectory([]byte(bad)); err == nil {
			t.Errorf("%.20q is a directory", bad)
		}
	}
	// Each key has a separate proof.
	h := SignDirectory(body, "BOT.example.org:443", testTime, testTime.Add(time.Hour), a, b)
	if in, err := dictionary(h[FieldInput]); err != nil || len(in.Names()) != 2 {
		t.Errorf("%v, %v", h, err)
	}
}

func FuzzParseDirectory(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + rfcPublic + `","nbf":1,"exp":2}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, _, err := ParseDirectory(body)
		if err == nil && len(d.Keys) > maxKeys {
			t.Errorf("%d keys", len(d.Keys))
		}
		for _, j := range d.Keys {
			if _, err := j.PublicKey(); err != nil {
				t.Errorf("%+v: %v", j, err)
			}
		}
	})
}

func FuzzParseKey(f *testing.F) {
	file, _ := testKey(f, 1).PEM()
	f.Add(file)
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"","d":""}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		k, err := ParseKey(file)
		if err == nil && (TestKey(k.ID()) || len(k.Public()) != 32) {
			t.Errorf("%v", k)
		}
	})
}

func FuzzParseAgent(f *testing.F) {
	f.Add("https://BOT.example.org:443/a?b", "jwks")
	f.Add("https://[::1%25]/x", "string")
	f.Fuzz(func(t *testing.T, raw, form string) {
		agent, err := ParseAgent(raw, Form(form))
		if err != nil {
			return
		}
		again, err := ParseAgent(agent, Form(form))
		if err != nil || again != agent {
			t.Errorf("%q becomes %q, and that %q, %v", raw, agent, again, err)
		}
	})
}
