package settings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/rulefile"
)

// renders are the words of the setting render.
var renders = []string{crawl.RenderNever, crawl.RenderAuto, crawl.RenderAlways}

// renderLoads are the words of the setting render-load.
var renderLoads = []string{string(render.Image), string(render.Font), string(render.Media)}

func checkRender(word string) string {
	if !slices.Contains(renders, word) {
		return "is none of the words"
	}
	return ""
}

// renderWord is a word as a spec has it: empty for the default.
func renderWord(word string) string {
	if word == crawl.RenderNever {
		return ""
	}
	return word
}

func checkRenderLoad(list []string) string {
	for word := range renderLoadWords(list) {
		if !slices.Contains(renderLoads, word) {
			return "has " + strconv.Quote(word) + "; " + rulefile.Suggest(word, renderLoads)
		}
	}
	return ""
}

// renderLoadNames are the kinds in a list that was typed and checked, each once and in the order of
// renderLoads; nil if there are none.
func renderLoadNames(list []string) (names []string) {
	typed := slices.Collect(renderLoadWords(list))
	for _, name := range renderLoads {
		if slices.Contains(typed, name) {
			names = append(names, name)
		}
	}
	return names
}

// renderLoadWords yields the words of a list. One element of the list may have several, separated
// by commas.
func renderLoadWords(list []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, element := range list {
			for word := range strings.SplitSeq(element, ",") {
				if word = strings.ToLower(strings.TrimSpace(word)); word != "" && !yield(word) {
					return
				}
			}
		}
	}
}
