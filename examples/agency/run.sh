#!/bin/sh
# Crawls a site that requires a password, with signed requests and within limits.
#
#   sh run.sh                                             a simulated site on this machine
#   sh run.sh https://wiki.example.org/ me@example.org    your site, and an address at which its webmaster reaches you
set -eu
cd "$(dirname "$0")"

if [ $# -ge 2 ]; then
	site=$1
	export CURTSY_CONTACT="$2"
else
	web=${WEB:-127.0.0.1:8000} site=https://h0000.sim.test/
	curtsy simweb --listen "$web" --login "agency:an example" --certificate site.pem --log requests.jsonl >web.log &
	trap 'kill $!' EXIT
	until grep -qs serving web.log; do kill -0 $!; sleep 0.1; done
	export CURTSY_ALLOW_PRIVATE=true CURTSY_DELAY=20ms CURTSY_RESOLVE="*.sim.test=$web" CURTSY_CONTACT=me@example.org
fi

chmod 600 credentials.yaml # only you may read it
[ -f sign.pem ] || curtsy identity --new-key sign.pem
curtsy identity --config curtsy.yaml --dir publish # what you publish at the address of sign-agent
curtsy crawl --config curtsy.yaml "$site" || [ $? -eq 3 ] # 3: a limit ended it
curtsy status --config curtsy.yaml
if [ -f requests.jsonl ]; then
	trap - EXIT
	kill $! && wait $! || true # the log of the simulated site is complete when it has ended
	echo "the site's own log: $(grep -c '"signer":"https://bot.example.org"' requests.jsonl) signed requests, $(grep -vc '"signer"' requests.jsonl) others"
fi
