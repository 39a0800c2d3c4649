package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// searchRulesView is what searchrules.html shows.
type searchRulesView struct {
	CanControl bool // the crawl is running, so its rules can be changed
	Text       string
	Mark       string // of the rules in force when the form was made
	Queries    string // of the preview, as they were typed
	MaxQueries int
	Wrong      []string       // the mistakes of a text that is previewed
	Preview    []movedResults // nil: none was asked for

	Q      string     // the query whose results are shown
	Hits   []ruledHit // the first of them
	Hidden []string   // the pages that the rules hide
}

// Back leads to the results of the query.
func (v searchRulesView) Back() string { return "/search-rules?q=" + url.QueryEscape(v.Q) }

// ruledHit is a result of a query.
type ruledHit struct {
	Rank       int
	URL, Title string
	Pinned     bool
}

// movedResults is what other rules change for a query.
type movedResults struct {
	Query   string
	Changed bool
	Hits    []asker.Move
}

// previewQueries is how many queries the page compares at a time.
const previewQueries = 10

func searchRules(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	v := searchRulesView{CanControl: !c.Stopped(), MaxQueries: previewQueries, Q: r.field("q")}
	var err error
	if v.Text, err = c.SearchRules(ctx); err != nil {
		return nil, err
	}
	v.Mark = markOf(v.Text)
	if r.Method == http.MethodPost {
		return v, v.preview(ctx, c, r.PostForm)
	}
	if v.Q == "" {
		return v, nil
	}
	a, err := c.Search(ctx, crawl.SearchRequest{Query: v.Q, Limit: 10})
	for i, h := range a.Hits {
		v.Hits = append(v.Hits, ruledHit{i + 1, h.URL, h.Title, h.Pinned})
	}
	// Rules that this version cannot read count as none.
	if rules, wrong := parseRules(v.Text); wrong == nil {
		v.Hidden = rules.For(query.Parse(v.Q)).Hide
	}
	return v, err
}

// preview compares results by the rules in a form with those by the rules in force.
func (v *searchRulesView) preview(ctx context.Context, c *asker.Crawl, form url.Values) (err error) {
	v.Text, v.Mark, v.Queries = typedRules(form), form.Get("mark"), form.Get("queries")
	rules, wrong := parseRules(v.Text)
	if wrong != nil {
		v.Wrong = strings.Split(wrong.Error(), "\n")
		return nil
	}
	v.Preview = []movedResults{}
	for line := range strings.Lines(v.Queries) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(v.Preview) == previewQueries {
			break
		}
		m := movedResults{Query: line}
		m.Hits, m.Changed, err = c.Moves(ctx, line, rules)
		if err != nil && len(m.Hits) == 0 {
			return err
		}
		v.Preview = append(v.Preview, m)
	}
	return err
}

// parseRules reads search rules. An empty text has none.
func parseRules(text string) (*searchrules.Rules, error) {
	if text == "" {
		return nil, nil
	}
	return searchrules.Parse(text)
}

// typedRules is the text of the rules in a form. Browsers end lines in another way than files.
func typedRules(form url.Values) string {
	text := strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

// markOf identifies the text of rules.
func markOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Errors in the forms of the page.
var (
	errRulesChanged = errors.New("Somebody else has changed the search rules since this page was loaded. Load it again, and repeat your change.")
	errWay          = errors.New("A result can be pinned, hidden, or neither.")
)

const (
	rulesSaved = "The search rules were saved. The next search uses them."
	rulesSame  = "This changes nothing."
)

// saveRules replaces the search rules by those that were typed.
func saveRules(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	return edited(ctx, c, by, func(now string) (string, error) {
		if markOf(now) != form.Get("mark") {
			return "", errRulesChanged
		}
		return typedRules(form), nil
	})
}

// curateResult pins or hides a result of a query.
func curateResult(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	way := searchrules.Way(form.Get("way"))
	switch way {
	case searchrules.Pin, searchrules.Hide, searchrules.Clear:
	default:
		return "", errWay
	}
	return edited(ctx, c, by, func(now string) (string, error) {
		return searchrules.Edit(now, form.Get("q"), form.Get("url"), way)
	})
}

func edited(ctx context.Context, c *asker.Crawl, by control.By, edit func(now string) (string, error)) (string, error) {
	switch changed, err := control.EditSearchRules(ctx, c, by, edit); {
	case err != nil:
		return "", err
	case changed:
		return rulesSaved, nil
	}
	return rulesSame, nil
}
