package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// families are words in all cases and both numbers, one word a line.
var families = map[string]string{
	"cs": `soubor souboru souborem soubory souborů souborům souborech
stránka stránky stránce stránku stránkou stránek stránkám stránkách stránkami
kniha knihy knize knihu knihou knih knihám knihách knihami
uživatel uživatele uživateli uživatelem uživatelé uživatelů uživatelům uživatelích
heslo hesla heslu heslem hesel heslům heslech hesly
článek článku článkem články článků článkům článcích
složka složky složce složku složkou složek složkám složkách složkami
nastavení nastavením nastaveních nastaveními
informace informaci informací informacím informacích informacemi
systém systému systémem systémy systémů systémům systémech
problém problému problémem problémy problémů
program programu programem programy programů programech
město města městu městem měst městům městech městy
server serveru serverem servery serverů serverům serverech
autor autora autorovi autorem autoři autorů autorům autorech
nový nová nové nového novému novým novou nových novými noví
klávesnice klávesnici klávesnicí klávesnic klávesnicích klávesnicemi
možnost možnosti možností možnostem možnostech možnostmi
dialog dialogu dialogem dialogy dialozích dialogů`,
	"pl": `plik pliku plikowi plikiem pliki plików plikom plikami plikach
strona strony stronie stronę stroną stron stronom stronami stronach
książka książki książce książkę książką książek książkom książkami książkach
użytkownik użytkownika użytkownikowi użytkownikiem użytkownicy użytkowników użytkownikom użytkownikami użytkownikach
hasło hasła hasłu hasłem haśle haseł hasłom hasłami hasłach
ustawienie ustawienia ustawieniu ustawieniem ustawień ustawieniom ustawieniami ustawieniach
informacja informacji informację informacją informacje informacjom informacjami informacjach
dokument dokumentu dokumentowi dokumentem dokumencie dokumenty dokumentów dokumentom dokumentami dokumentach
system systemu systemowi systemem systemie systemy systemów systemom systemami systemach
program programu programem programie programy programów programom programami programach
serwer serwera serwerowi serwerem serwerze serwery serwerów serwerom serwerami serwerach
możliwość możliwości możliwością możliwościom możliwościami możliwościach
nowy nowa nowe nowego nowemu nowym nową nowej nowych nowymi nowi
polski polska polskie polskiego polskiemu polskim polską polskiej polskich polskimi
okno okna oknu oknem oknie okien oknom oknami oknach
projekt projektu projektem projekcie projekty projektów projektom projektami projektach
przykład przykładu przykładem przykładzie przykłady przykładów przykładach
wersja wersji wersję wersją wersje wersjom wersjami wersjach
zdjęcie zdjęcia zdjęciu zdjęciem zdjęć zdjęciom zdjęciami zdjęciach
kalendarz kalendarza kalendarzowi kalendarzem kalendarzu kalendarze kalendarzy kalendarzom kalendarzach`,
}

// TestFamilies: all forms of a word have one stem, also without accents, and the words have
// different ones.
func TestFamilies(t *testing.T) {
	for lang, lines := range families {
		k := NewKeyer()
		of := map[string]string{}
		for line := range strings.Lines(lines) {
			forms := strings.Fields(line)
			want := string(k.Stem(nil, lang, forms[0]))
			for _, form := range forms {
				if got := string(k.Stem(nil, lang, form)); got != want {
					t.Errorf("%s has the key %s, %s has %s", form, got, forms[0], want)
				}
				bare := strings.ReplaceAll(Plain(form), "ł", "l")
				if got := string(k.Stem(nil, lang, bare)); got != want {
					t.Errorf("%s has the key %s, with accents %s", bare, got, want)
				}
			}
			if of[want] != "" {
				t.Errorf("%s and %s have the key %s", of[want], forms[0], want)
			}
			of[want] = forms[0]
		}
	}
}

// TestDifferentWords: words that look alike have different stems.
func TestDifferentWords(t *testing.T) {
	for lang, pairs := range map[string][][2]string{
		"cs": {
			{"věc", "věk"}, {"forma", "formát"}, {"program", "programátor"}, {"port", "portál"}, {"test", "text"}, {"strana", "stránka"},
			{"zpráva", "správa"}, {"den", "dům"}, {"vzor", "vzorek"}, {"práce", "prach"}, {"web", "vůbec"}, {"klíč", "klik"},
		},
		"pl": {
			{"forma", "format"}, {"program", "programista"}, {"strona", "stronica"}, {"pole", "polski"}, {"test", "tekst"}, {"plik", "plan"},
			{"praca", "prasa"}, {"sieć", "sito"}, {"dom", "dym"}, {"karta", "kartka"}, {"klucz", "klik"},
		},
	} {
		k := NewKeyer()
		for _, p := range pairs {
			a, b := string(k.Stem(nil, lang, p[0])), string(k.Stem(nil, lang, p[1]))
			if a == b {
				t.Errorf("%s and %s both have the key %s", p[0], p[1], a)
			}
		}
		for _, short := range []string{"v", "na", "se", "web", "ftp", "css"} {
			if got := string(k.Stem(nil, lang, short)); got != lang+":"+short {
				t.Errorf("the short word %s has the key %s", short, got)
			}
		}
	}
}

func TestSlavicLanguages(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"cs", "Průvodce instalací systému vás provede jednotlivými kroky. Nejprve vyberte jazyk, který chcete při instalaci používat, a potom nastavte připojení k síti. Rozdělení disku můžete změnit i později."},
		{"cs", "Článek popisuje dějiny města od jeho založení ve středověku. Ve městě žije přibližně deset tisíc obyvatel, většina z nich pracuje v průmyslu nebo dojíždí za prací."},
		{"pl", "Przewodnik po instalacji systemu opisuje kolejne kroki. Najpierw należy wybrać język, który będzie używany podczas instalacji, a następnie skonfigurować połączenie z siecią."},
		{"pl", "Artykuł opisuje dzieje miasta od jego założenia w średniowieczu. W mieście mieszka około dziesięciu tysięcy osób, większość z nich pracuje w przemyśle."},
		// Slovak and Croatian have no stemmer, and must not be given that of a neighbour.
		{"", "Sprievodca inštaláciou systému vás prevedie jednotlivými krokmi. Najprv vyberte jazyk, ktorý chcete pri inštalácii používať, a potom nastavte pripojenie k sieti. Rozdelenie disku môžete zmeniť aj neskôr."},
		{"", "Vodič za instalaciju sustava opisuje pojedine korake. Najprije odaberite jezik koji želite koristiti tijekom instalacije, a zatim postavite vezu s mrežom. Podjelu diska možete promijeniti i kasnije."},
	} {
		if got := Language("", []byte(c.text)); got != c.want {
			t.Errorf("Language(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// A stem is a text and not empty, whatever the word is.
func FuzzSlavic(f *testing.F) {
	f.Add("článcích")
	f.Add("dokumencie")
	f.Add("ěe€ek")
	f.Fuzz(func(t *testing.T, word string) {
		for _, l := range []*light{&czech, &polish} {
			if got := l.stem(word); utf8.ValidString(word) && (got == "" && word != "" || !utf8.ValidString(got)) {
				t.Fatalf("the stem of %q is %q", word, got)
			}
		}
	})
}
