#!/bin/sh
# What the leader does: it issues invoices. With FENCE=1 it shows the lock's index in Consul as its fencing token.
node=$1 consul=$2 store=$3
trap 'echo "$node leads no more"; exit 0' TERM INT
token=$(consul kv get -http-addr="http://$consul" -detailed service/billing/.lock | sed -n 's/^ModifyIndex *//p')
[ "$FENCE" = 1 ] && query="?token=$token"
echo "$node leads with token $token"
while curl -sf -X POST "http://$store/invoices$query" >/dev/null; do
  sleep 0.1
done
echo "$node leads no more"
