package analysis

import "strings"

// stopLangs are the languages of stopWords, in the order of their bits.
var stopLangs = [...]string{"en", "de", "fr", "es", "it", "nl", "pt", "cs", "pl"}

// stopWords are words that say how a question is asked rather than what it is about, with their
// languages as bits. They have little weight, and pages need not have them. The words of a language
// count in every query: that "die" is light in an English query, too, only ranks pages without it
// lower. They also identify the language of a text.
var stopWords = func() map[string]uint16 {
	all := map[string]uint16{}
	for i, lang := range [len(stopLangs)]string{
		// English
		"a an and are as at be been but by can could did do does for from get had has have how i if in into is it its me my of on or " +
			"our should so than that the their them then there these they this to use using used was way we were what when where " +
			"which who whom whose why will with without would you your between about",
		// German
		"aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser dieses du durch ein eine einem einen " +
			"einer eines er es für fuer hat haben ich ihr im in ins ist kann kein keine man mein meine mit muss nach nicht noch oder " +
			"ohne sich sie sind so soll über ueber um und unter vom von vor war warum was wann welche welcher welches wenn wer werden " +
			"wie wird wo zu zum zur",
		// French
		"à a au aux avec ce ces cet cette comment dans de des du elle en est et faire faut il ils je la le les leur lui ma mais me mes mon " +
			"ne nos notre nous on ou où par pas peut pour pourquoi quand que quel quelle quels quelles qui quoi sa sans se ses si " +
			"son sont sur ta te tes ton tu un une vos votre vous y",
		// Spanish
		"al como cómo con cual cuál cuando cuándo de del desde donde dónde el en entre es esta está este esto hay la las le lo los más " +
			"mi no o para pero por porque puedo que qué quien quién se ser si sin sobre son su sus un una uno y ya",
		// Italian
		"che chi come con cosa da dal dalla degli dei del della di dove e è gli ha i il in io la le lo ma mi nel nella non o per perché " +
			"più quale quali quando se si sono su tra un una uno",
		// Dutch
		"aan als bij dat de deze die dit door een en er het hoe ik in is je kan maar met mijn naar niet of om ook op over te tot uit " +
			"van voor waar waarom wanneer wat welke wie wordt zijn zonder",
		// Portuguese
		"ao aos as com como da das de do dos e é em entre eu isso mais mas na nas no nos o os ou para pela pelo por porque qual " +
			"quando que quem se sem ser seu sua são um uma você",
		// Czech
		"aby ale bez být byl byla bylo byly co jak jako jaký jaká jaké je jejich jen jsem jsou kde kdy když která které který lze má mají mezi " +
			"může můžete mohu na nebo nebyl není než pokud pomocí pro proč protože před při se si své také tento toto tato že",
		// Polish
		"albo ale aby być był była było były czy dla dlaczego gdy gdzie jaki jaka jakie jak jego jej jeśli kiedy która które który lub ma mogę może można " +
			"na nie niż oraz ponieważ przed przez przy są się tak także tego tej ten tym tylko że",
	} {
		for word := range strings.FieldsSeq(lang) {
			all[word] |= 1 << i
		}
	}
	return all
}()

// IsStopWord reports whether a word in lower case says how a question is asked rather than what it
// is about.
func IsStopWord(word string) bool { return stopWords[word] != 0 }
