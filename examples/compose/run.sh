#!/bin/sh
# Runs a NATS server, a frontier, a fetcher and an indexer as containers, and crawls with them.
#
#   sh run.sh                                             the simulated site of the compose file
#   sh run.sh https://docs.example.org/ me@example.org    your site, and an address at which its webmaster reaches you
set -eu
cd "$(dirname "$0")"

if [ $# -ge 2 ]; then
	export SEED="$1" CONTACT="$2" CRAWL=mine
fi
compose="docker-compose -f ../../deploy/compose.yaml"
command -v docker-compose >/dev/null || compose="docker compose -f ../../deploy/compose.yaml"

$compose up -d
curtsy() { $compose exec -T indexer curtsy "$@"; }
until curtsy status 2>/dev/null | grep '^done'; do sleep 1; done
curtsy search --limit 2 "quiet harbor"
