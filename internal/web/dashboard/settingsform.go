package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/settings"
)

// shownSetting is a setting and its value in words.
type shownSetting struct{ Name, Title, Text string }

// All lists every setting of the crawl with the value in force.
func (v settingsView) All() (all []shownSetting) {
	for _, row := range settings.All() {
		all = append(all, shownSetting{row.Name, row.Title, row.InForce(&v.Spec)})
	}
	return all
}

// Limits lists the settings that limit the crawl.
func (v settingsView) Limits() (limits []shownSetting) {
	for _, row := range settings.All() {
		if row.Title == "" {
			continue
		}
		text := row.Text(&v.Spec)
		if n, ok := row.Value(&v.Spec).(settings.Size); ok && n > 0 {
			text = size(int64(n))
		}
		if text != settings.NoLimit {
			text = "at most " + text
		}
		limits = append(limits, shownSetting{row.Name, row.Title, text})
	}
	return limits
}

// input is a field of the form that changes settings: a choice of Options, or a number.
type input struct {
	Name, Label, Value string
	Options            []string
	Min, Max, Step     string
}

// Inputs are the fields of the form.
func (v settingsView) Inputs() (inputs []input) {
	for _, row := range settings.All() {
		if row.Label != "" {
			inputs = append(inputs, inputOf(row, v.Spec))
		}
	}
	return inputs
}

func inputOf(row *settings.Setting, s crawl.Spec) input {
	in := input{Name: row.Name, Label: row.Label, Value: fmt.Sprint(row.Value(&s)), Options: row.Choices, Min: "0"}
	if len(in.Options) > 0 && !slices.Contains(in.Options, in.Value) { // a scope such as *.NAME
		in.Options = append(slices.Clip(in.Options), in.Value)
	}
	switch p := row.Pointer(&s).(type) {
	case *time.Duration:
		in.Value, in.Max, in.Step = fmt.Sprint(p.Seconds()), fmt.Sprint(control.MaxDelay.Seconds()), "any"
	case *int:
		if *p = -1; row.Problem(&s) == "" {
			in.Min = "-1"
		}
	}
	return in
}

// readInput stores what was typed into the field of a setting. It reports false if that is not a
// value of the setting's type.
func readInput(row *settings.Setting, to *crawl.Spec, text string) bool {
	switch p := row.Pointer(to).(type) {
	case *string:
		*p = text
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		*p = n
		return err == nil
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return err == nil
	case *time.Duration:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds < 1e9) {
			return false
		}
		*p = time.Duration(math.Round(seconds * float64(time.Second)))
	default:
		return false
	}
	return true
}
