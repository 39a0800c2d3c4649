package cli

import (
	"slices"
	"strings"
)

// foreign describes a name that other crawlers use, and what we have instead.
type foreign struct {
	names string // flags with one dash or two, and commands, separated by blanks
	ours  string // our flag, with a value: "--max-depth 3"; for a command, our command
	say   string // a sentence about it, instead of a flag or beside one
}

// foreignFlags has the flags of wget, wget2, curl, httrack, scrapy, heritrix, nutch, colly,
// crawley, katana and similar programs. A name with one dash must be the whole word that was typed,
// such as -np. A name may have several rows, for commands with different flags.
var foreignFlags = []foreign{
	// Scope
	{"--depth --level --max-level --depth-limit --max-link-depth --maxdepth --max_depth --ext-depth --hops --max-hops -l -d -depth", "--max-depth 3", ""},
	{"--recursive --mirror --page-requisites -r -m -p -rec", "", "A crawl follows links unless --links=false is given; --max-depth N limits how far."},
	{"--no-recursive --no-links --nofollow --no-follow", "--links=false", ""},
	{"--domains --domain --allowed-domains --allowed_domains --allow-domains --crawl-scope -D -cs", "--scope domain", "Or name the hosts with --include 'REGEXP'."},
	{"--exclude-domains --disallowed-domains --crawl-out-scope -cos", "--exclude '^https?://shop[.]example[.]org/'", ""},
	{"--accept --accept-regex --allow --filter-regex --match-regex --url-filter --follow -A -mr", "--include '[.]html$'", ""},
	{"--reject --reject-regex --deny --ignore --disallow --filter -R -fr", "--exclude '[.]zip$'", ""},
	{"--exclude-dir --exclude-dirs --exclude-directories --exclude-path --exclude-paths -X", "--exclude '/private/'", ""},
	{"--include-dir --include-dirs --include-directories --include-path -I", "--include '/docs/'", ""},
	{"--no-parent -np", "--scope prefix", ""},
	{"--span-hosts --external --any-domain", "--scope any", ""},
	{"--subdomains --include-subdomains --subs", "--scope subdomains", ""},
	{"--same-host --same-domain --stay-on-host --stay-on-domain", "--scope host", ""},
	{"--url --seed --start-url --start-urls --start_url --uri --target --site -u", "", "Write the URLs without a flag, or read them from a file with --seeds FILE."},
	{"--input-file --list --urls --url-file --seed-file --seeds-file --seedlist --url-list -i -list", "--seeds seeds.txt", ""},
	{"--sitemap --use-sitemap --sitemap-url", "", "Sitemaps are read by default; --sitemaps=false turns that off."},
	{"--no-sitemap --no-sitemaps", "--sitemaps=false", ""},
	// Limits
	{"--max-urls --max-requests --limit --count --page-limit --max-files --max-docs --topN --topn --closespider_pagecount -topN -n", "--max-pages 500", ""},
	{"--quota --max-size --max-total --max-download -Q", "--max-bytes 1GiB", ""},
	{"--max-filesize --max-file-size --max-page-size --max-body-size --body-limit -mrs", "--max-body 10MiB", ""},
	{"--time-limit --max-duration --crawl-duration --duration --deadline -ct", "--max-time 2h", ""},
	{"--threads --concurrency --concurrent-requests --workers --parallel --parallelism --jobs --max-threads --sockets --connections --goroutines -j -threads -workers", "--visits 64",
		"It is the number of hosts that are visited at the same time; a host gets one request at a time."},
	{"--max-per-host --max-urls-per-host --per-host", "--max-pages-per-host 1000", ""},
	// Politeness
	{"--user-agent --useragent --ua --user_agent --http-agent --agent-name -U -F -user-agent", "--agent NAME", "It sets the product token; --contact ADDRESS adds your address to the User-Agent."},
	{"--email --from --mail --operator --operator-contact-url", "--contact me@example.org", ""},
	{"--wait --waitretry --download-delay --download_delay --crawl-delay --politeness --interval --sleep --pause --random-wait -w -delay", "--delay 2s", "A Crawl-delay of the site counts too if it is longer."},
	{"--rate --rate-limit --rate-limit-minute --max-rate --requests-per-second --rps --connection-per-second -rl -rlm", "--delay 2s", "It is the pause after each response of a host; the number of hosts is --visits N."},
	{"--limit-rate --bandwidth --max-bandwidth", "--delay 2s", "There is no limit in bytes per second; a host gets one request at a time, and this pause after each."},
	{"--ignore-robots --no-robots --robots --norobots --robotstxt --obey-robots --robots-txt --disable-robots --respect-robots -e -robots -s", "",
		"There is no switch to ignore robots.txt; curtsy explain URL shows the line that decides."},
	{"--timeout --connect-timeout --read-timeout --dns-timeout --request-timeout -T -timeout", "--hold-max 10m", "Time-outs of requests are fixed; this is how long a crawl waits for a host that does not answer."},
	{"--retries --tries --retry --max-retries --retry-times -t", "", "A failed request is tried three times in all; curtsy retry HOST tries a host again."},
	// What is kept
	{"--content-types --file-types --filetypes --extensions --mime-types --ext -ef -em", "--types html,text,pdf", ""},
	{"--warc-file --warc-dir --warc-cdx --save-warc", "--warc ./warc", ""},
	// Freshness
	{"--timestamping --update --refresh --if-modified-since --incremental -N", "--recrawl", "The same crawl command keeps the pages that it has."},
	{"--schedule --cron --repeat --fetch-interval", "--every 24h", ""},
	{"--continue --resume --start-pos", "", "The same command with the same --dir resumes a crawl."},
	{"-c", "", "The same command with the same --dir resumes a crawl; --visits N is the number of hosts that are visited at the same time."},
	// Access
	{"--header --headers --http-header --custom-headers -H", "--credentials FILE", "Header fields for a site stand in that file; see docs/guides/credentials.md."},
	{"--cookie --cookies --load-cookies --cookie-file --cookie-jar -b -cookie", "--credentials FILE", "Cookies for a site stand in that file; see docs/guides/credentials.md."},
	{"--user --password --http-user --http-password --auth --login --basic-auth --username", "--credentials FILE", "Passwords for a site stand in that file; see docs/guides/credentials.md."},
	{"--http-proxy --https-proxy --socks5 --proxy-url --proxy-server -x -proxy", "--proxy http://127.0.0.1:3128", ""},
	{"--no-check-certificate --insecure --skip-ssl --ignore-certificate-errors -k", "", "Certificates are always checked; install the CA of a site of your own on this machine."},
	{"--headless --js --javascript --js-crawl --browser --chrome -jc -headless", "--render auto", ""},
	{"--private --allow-local --local --localhost", "--allow-private", ""},
	{"--dns --hosts --host-resolver-rules --connect-to", "--resolve docs.test=127.0.0.1:8080", ""},
	// What is shown
	{"--tail --lines --last --head --num --top -n", "--limit 10", ""},
	{"--csv --format --output-format --jsonl --raw", "--json", ""},
	{"--watch --live -w", "--follow", ""},
	// Output
	{"--output --output-document --output-dir --out --directory-prefix --path --store --storage --data-dir --data --workdir --work-dir -O -o -P", "--dir ./curtsy-data", "curtsy export pages writes the pages out afterwards."},
	{"--format --output-format --jsonl --csv", "", "A crawl stores pages in --dir; curtsy export pages --format jsonl writes them out."},
	{"--verbose --debug --loglevel --log_level -v -vv", "--log-level debug", ""},
	{"--quiet --silent --no-verbose --nolog -q -nv -silent", "--progress none", ""},
	{"--logfile --log-file --output-file --append-output --log", "", "Messages go to standard error: write 2> crawl.log behind the command."},
	{"--json", "--progress json", ""},
	{"--port --web-port --admin-port --http-port --address --bind", "--listen 127.0.0.1:8080", ""},
	{"--settings --conf --config-file --set -f", "--config curtsy.yaml", ""},
	{"--background --daemon --detach -B", "", "Run it as a service (docs/guides/several-machines.md), or write & behind the command."},
	{"--spider --dry-run --simulate", "", "curtsy plan with the same flags shows what a crawl would fetch."},
	// Cluster
	{"--server --broker --redis --redis-url --queue --nats-url --nats-server --brokers", "--nats nats://127.0.0.1:4222", ""},
	{"--name --crawl-name --job --job-id --crawl-id --project -crawlId", "--crawl NAME", "It names a crawl on a NATS server; without one, --dir selects the crawl."},
}

// foreignCommands has the commands of other crawlers, by our names for them.
var foreignCommands = []foreign{
	{"start run begin fetch get download mirror scrape spider runspider wget curl go", "crawl", ""},
	{"dry-run simulate estimate preview", "plan", ""},
	{"add inject submit enqueue push", "seed", ""},
	{"stats stat info state progress ps readdb", "status", ""},
	{"find query grep lookup", "search", ""},
	{"list ls urls docs documents dump", "pages", ""},
	{"why inspect url trace", "explain", ""},
	{"logs tail events audit", "log", ""},
	{"server web http api", "serve", ""},
	{"ui gui admin console", "dashboard", ""},
	{"host-list domains sites servers", "hosts", ""},
	{"save output csv json parquet", "export", ""},
	{"dataset data catalog catalogue", "datasets", ""},
	{"kill cancel quit abort terminate shutdown", "stop", ""},
	{"suspend freeze", "pause", ""},
	{"continue unpause restart", "resume", ""},
	{"configure update-settings change", "set", ""},
	{"delete del rm remove purge drop erase", "forget", ""},
	{"recrawl reload refresh revisit", "refetch", ""},
	{"index solrindex rebuild optimize", "reindex", ""},
	{"warc wacz cdx", "archive", ""},
	{"validate lint verify test", "check", ""},
	{"robots robotstxt robots.txt", "check robots", ""},
	{"key keygen sign genkey", "identity", ""},
	{"assistant ai llm", "mcp", ""},
	{"example tutorial quickstart try", "demo", ""},
}

// foreignOf returns the rows of a table that contain a name.
func foreignOf(table []foreign, name string) (rows []*foreign) {
	for i := range table {
		if slices.Contains(strings.Fields(table[i].names), name) {
			rows = append(rows, &table[i])
		}
	}
	return rows
}
