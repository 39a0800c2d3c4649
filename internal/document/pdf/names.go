package pdf

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names of glyphs and their texts. Most names follow a rule: the name of a letter with an accent
// consists of both names, and a Greek letter has its own name. Names without a rule are listed.

// signs are names that follow no rule, each with its text.
var signs = table(`space   exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' quoteright ’ quoteleft ‘
parenleft ( parenright ) asterisk * plus + comma , hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5
six 6 seven 7 eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ]
asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥
florin ƒ section § currency ¤ quotedblleft “ guillemotleft « guilsinglleft ‹ guilsinglright › guillemotright » endash – emdash —
sfthyphen - softhyphen - dagger † daggerdbl ‡ periodcentered · middot · paragraph ¶ bullet • quotesinglbase ‚ quotedblbase „
quotedblright ” ellipsis … perthousand ‰ questiondown ¿ acute ´ circumflex ˆ tilde ˜ macron ¯ breve ˘ dotaccent ˙ dieresis ¨ ring ˚
cedilla ¸ hungarumlaut ˝ ogonek ˛ caron ˇ AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø Lslash Ł lslash ł Eth Ð eth ð Thorn Þ thorn þ
germandbls ß dotlessi ı dotlessj ȷ dcroat đ Dcroat Đ hbar ħ Hbar Ħ Tbar Ŧ tbar ŧ Eng Ŋ eng ŋ kgreenlandic ĸ ordfeminine ª ordmasculine º
logicalnot ¬ registered ® copyright © trademark ™ degree ° plusminus ± twosuperior ² threesuperior ³ onesuperior ¹ mu µ onequarter ¼
onehalf ½ threequarters ¾ multiply × divide ÷ brokenbar ¦ Euro € euro € nbspace   ff ff fi fi fl fl ffi ffi ffl ffl f_f ff f_i fi f_l fl
f_f_i ffi f_f_l ffl f_t ft t_t tt T_h Th longs ſ lessequal ≤ greaterequal ≥ notequal ≠ infinity ∞ summation ∑ product ∏ integral ∫
radical √ partialdiff ∂ approxequal ≈ Delta Δ lozenge ◊ arrowleft ← arrowright → arrowup ↑ arrowdown ↓ arrowboth ↔ arrowdblleft ⇐
arrowdblright ⇒ arrowdblboth ⇔ element ∈ notelement ∉ emptyset ∅ intersection ∩ union ∪ propersubset ⊂ propersuperset ⊃ reflexsubset ⊆
logicaland ∧ logicalor ∨ universal ∀ existential ∃ gradient ∇ asteriskmath ∗ similar ∼ congruent ≅ equivalence ≡ proportional ∝
circleplus ⊕ circlemultiply ⊗ dotmath ⋅ angleleft ⟨ angleright ⟩ prime ′ minute ′ second ″ checkmark ✓ visiblespace ␣ openbullet ◦
estimated ℮ numero № Alpha Α Beta Β Gamma Γ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π
Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε epsilon1 ϵ zeta ζ eta η theta θ iota ι
kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma σ sigma1 ς tau τ upsilon υ phi φ phi1 ϕ chi χ psi ψ omega ω omega1 ϖ theta1 ϑ
afii10071 ё afii10023 Ё afii61352 № commaaccent ̦ Idotaccent İ mathplus + bulletmath ∙ ell ℓ weierstrass ℘ aleph ℵ`)

func table(s string) map[string]string {
	m := map[string]string{"space": " ", "nbspace": " ", "nonbreakingspace": " "}
	words := strings.Fields(s)
	for i := 0; i+1 < len(words); {
		if _, blank := m[words[i]]; blank {
			i++
			continue
		}
		m[words[i]] = words[i+1]
		i += 2
	}
	return m
}

// accents are the endings of names of letters with an accent.
var accents = []struct{ name, mark string }{
	{"acute", "\u0301"}, {"grave", "\u0300"}, {"circumflex", "\u0302"}, {"dieresis", "\u0308"}, {"tilde", "\u0303"}, {"cedilla", "\u0327"},
	{"ring", "\u030A"}, {"caron", "\u030C"}, {"macron", "\u0304"}, {"breve", "\u0306"}, {"dotaccent", "\u0307"}, {"ogonek", "\u0328"},
	{"hungarumlaut", "\u030B"}, {"commaaccent", "\u0326"}, {"tonos", "\u0301"}, {"dotbelow", "\u0323"}, {"hookabove", "\u0309"},
}

// glyphText returns the text of a glyph with this name, or "" if it is unknown.
func glyphText(n string) string {
	if s, ok := signs[n]; ok {
		return s
	}
	if len(n) == 1 {
		return n
	}
	if i := strings.IndexByte(n, '.'); i > 0 { // a variant: "a.sc", "one.oldstyle"
		return glyphText(n[:i])
	}
	if hex, ok := strings.CutPrefix(n, "uni"); ok && len(hex) >= 4 {
		var b strings.Builder
		for ; len(hex) >= 4; hex = hex[4:] {
			v, err := strconv.ParseUint(hex[:4], 16, 32)
			if err != nil {
				return ""
			}
			b.WriteRune(rune(v))
		}
		return b.String()
	}
	if hex, ok := strings.CutPrefix(n, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v <= unicode.MaxRune {
			return string(rune(v))
		}
	}
	if num, ok := strings.CutPrefix(n, "afii100"); ok && len(num) == 2 {
		if v, err := strconv.Atoi(num); err == nil {
			return cyrillic(v)
		}
	}
	for _, a := range accents {
		if base, ok := strings.CutSuffix(n, a.name); ok && base != "" {
			if s := glyphText(base); utf8.RuneCountInString(s) == 1 && unicode.IsLetter([]rune(s)[0]) {
				return norm.NFC.String(s + a.mark)
			}
		}
	}
	if strings.Contains(n, "_") {
		var b strings.Builder
		for part := range strings.SplitSeq(n, "_") {
			s := glyphText(part)
			if s == "" || len(n) > 64 {
				return ""
			}
			b.WriteString(s)
		}
		return b.String()
	}
	return ""
}

// numbered returns the text of a glyph whose name is only the number of its code, as some programs
// name bitmap fonts ("a65"): the character in ASCII, or in the encodings of TeX.
func numbered(n string, code int) string {
	digits := strings.TrimLeftFunc(n, unicode.IsLetter)
	if v, err := strconv.Atoi(digits); err != nil || v != code || len(n)-len(digits) > 2 {
		return ""
	}
	switch {
	case code >= 11 && code <= 15:
		return [...]string{"ff", "fi", "fl", "ffi", "ffl"}[code-11]
	case code >= 27 && code <= 31: // of TeX's second encoding
		return [...]string{"ff", "fi", "fl", "ffi", "ffl"}[code-27]
	case code == 34:
		return "”"
	case code == 92:
		return "“"
	case code == 123:
		return "–"
	case code >= ' ' && code <= '~':
		return string(rune(code))
	}
	return ""
}

// cyrillic returns the letter with the name afii100xx.
func cyrillic(v int) string {
	r := 0
	switch {
	case v >= 17 && v <= 22:
		r = 0x410 + v - 17
	case v >= 24 && v <= 49:
		r = 0x416 + v - 24
	case v >= 65 && v <= 70:
		r = 0x430 + v - 65
	case v >= 72 && v <= 97:
		r = 0x436 + v - 72
	default:
		return ""
	}
	return string(rune(r))
}

// The encodings that fonts name (ISO 32000-2 annex D), by their differences from ISO 8859-1.

// winAnsi is Windows code page 1252.
var winAnsi = over(latin1, 0x80, "€•‚ƒ„…†‡ˆ‰Š‹Œ•Ž••‘’“”•–—˜™š›œ•žŸ")

var latin1 = func() (t [256]string) {
	for i := 0x20; i < 0x100; i++ {
		t[i] = string(rune(i))
	}
	t[0x7f], t[0xad] = "•", "-"
	return t
}()

var macRoman = over(latin1, 0x80, "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄¤‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ")

var standard = func() (t [256]string) {
	t = over(t, 0x20, " !\"#$%&’()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_‘abcdefghijklmnopqrstuvwxyz{|}~")
	t = over(t, 0xa1, "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ")
	t = over(t, 0xb1, "–†‡·")
	t = over(t, 0xb6, "¶•‚„”»…‰")
	t[0xbf], t[0xc1], t[0xd0] = "¿", "`", "—"
	t = over(t, 0xc2, "´ˆ˜¯˘˙¨")
	t = over(t, 0xca, "˚¸")
	t = over(t, 0xcd, "˝˛ˇ")
	t[0xe1], t[0xe3], t[0xf1], t[0xf5] = "Æ", "ª", "æ", "ı"
	t = over(t, 0xe8, "ŁØŒº")
	return over(t, 0xf8, "łøœß")
}()

// over replaces characters of an encoding by those of a text.
func over(t [256]string, from int, text string) [256]string {
	for _, r := range text {
		t[from] = string(r)
		from++
	}
	return t
}

// symbol is the encoding of the font Symbol, except characters that are not text.
var symbol = func() (t [256]string) {
	t = over(t, 0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_")
	t = over(t, 0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
	t = over(t, 0xa1, "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…")
	return over(t, 0xc0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓")
}()
