package app

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

// Limits of the completion of a word in a shell, for which a person waits.
const (
	completePatience = 2 * time.Second
	completeHosts    = 200
)

// completesHosts completes the argument HOST of a command that reads a crawl with the hosts of that
// crawl. If there is no crawl, or it does not answer, it offers nothing and reports no error.
func completesHosts(cmd *cobra.Command, cfg *config.Reader, src *config.Source) {
	_, args, _ := strings.Cut(cmd.Use, " ")
	if !strings.HasPrefix(args, "HOST") && args != "[NAME]" {
		return
	}
	many := strings.HasSuffix(args, "...")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(before) > 0 && !many || src.Load() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completePatience)
		defer cancel()
		return hostNames(ctx, cfg, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// hostNames are the hosts of a crawl whose names begin with prefix.
func hostNames(ctx context.Context, cfg *config.Reader, prefix string) []cobra.Completion {
	if strings.ContainsAny(prefix, `*?[\`) { // no name has them
		return nil
	}
	from, err := New(nil, io.Discard, io.Discard).Open(ctx, cfg)
	if err != nil {
		return nil
	}
	defer from.Close()
	// If some shards do not answer, the others still have names.
	page, _ := questions.HostsPage.Ask(ctx, from, crawl.HostsQuery{Filter: prefix + "*", Paging: crawl.Paging{Limit: completeHosts}})
	names := make([]cobra.Completion, len(page.Rows))
	for i, row := range page.Rows {
		names[i] = row.Host
	}
	return names
}
