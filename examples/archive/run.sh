#!/bin/sh
# Archives a site in WARC files, checks them and packs them for replay.
#
#   sh run.sh                                             a simulated site on this machine
#   sh run.sh https://docs.example.org/ me@example.org    your site, and an address at which its webmaster reaches you
set -eu
cd "$(dirname "$0")"

if [ $# -ge 2 ]; then
	site=$1
	export CURTSY_CONTACT="$2"
else
	web=${WEB:-127.0.0.1:8000} site=http://h0000.sim.test/
	curtsy simweb --listen "$web" >web.log &
	trap 'kill $!' EXIT
	until grep -qs serving web.log; do kill -0 $!; sleep 0.1; done
	export CURTSY_ALLOW_PRIVATE=true CURTSY_DELAY=20ms CURTSY_RESOLVE="*.sim.test=$web"
fi

curtsy crawl --config curtsy.yaml "$site"
curtsy archive verify warc
curtsy archive list warc "$site" | head -n 3
curtsy archive cat --payload warc "$site" | head -n 1
rm -f site.wacz
curtsy archive wacz --out site.wacz --title "Our site" warc
