#!/bin/sh
# Finds the datasets that sites announce, gets their files and checks them.
#
#   sh run.sh                                             a simulated site on this machine
#   sh run.sh https://docs.example.org/ me@example.org    your site, and an address at which its webmaster reaches you
set -eu
cd "$(dirname "$0")"

if [ $# -ge 2 ]; then
	site=$1
	export CURTSY_CONTACT="$2"
else
	web=${WEB:-127.0.0.1:8000} site="http://h0002.sim.test/ http://h0004.sim.test/"
	curtsy simweb --listen "$web" >web.log &
	trap 'kill $!' EXIT
	until grep -qs serving web.log; do kill -0 $!; sleep 0.1; done
	export CURTSY_ALLOW_PRIVATE=true CURTSY_DELAY=20ms CURTSY_RESOLVE="*.sim.test=$web"
fi

curtsy crawl --config curtsy.yaml $site # not quoted: several sites are several words
curtsy datasets --config curtsy.yaml
curtsy datasets get --config curtsy.yaml --all --dir files || [ $? -eq 1 ] # 1: some could not be fetched; the table shows which
curtsy datasets verify files
curtsy export datasets --config curtsy.yaml --format dcat >catalogue.jsonld
