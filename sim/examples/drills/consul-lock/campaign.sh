#!/bin/sh
# Stands for election again and again: `consul lock` runs the command while it holds the lock, and ends it when it does not.
node=$1 consul=$2 store=$3
while :; do
  consul lock -http-addr="http://$consul" -child-exit-code service/billing "exec sh lead.sh $node $consul $store"
  sleep 0.5
done
