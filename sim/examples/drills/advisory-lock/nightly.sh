#!/bin/sh
# A job of which one instance is to run: cron starts it on every machine, and PostgreSQL's advisory lock lets one of them
# work. The lock lasts as long as the session that holds it, so one psql holds it while others write.
#
# With FENCE=1, each write checks a fencing token, which the holder has drawn from a sequence.
node=$1 lock=$2 url=$3
export PGOPTIONS="-c client_min_messages=warning"

coprocess=$(mktemp -d)
mkfifo "$coprocess/in" "$coprocess/out"
psql -qAtX "$lock" <"$coprocess/in" >"$coprocess/out" 2>&1 &
exec 3>"$coprocess/in" 4<"$coprocess/out"
rm -r "$coprocess"

echo "SELECT pg_advisory_lock(42), nextval('tokens');" >&3
read -r locked <&4 || exit 1
token=${locked##*|}
echo "$node leads with token $token"

while :; do
  if [ "$FENCE" = 1 ]; then
    written=$(psql -qAtX "$url" -c "WITH fenced AS (UPDATE fence SET token = $token WHERE token <= $token RETURNING token)
      INSERT INTO jobs (done_by, token) SELECT '$node', token FROM fenced RETURNING id") || exit 1
  else
    written=$(psql -qAtX "$url" -c "INSERT INTO jobs (done_by, token) VALUES ('$node', $token) RETURNING id") || exit 1
  fi
  if [ -z "$written" ]; then
    echo "$node was fenced off"
    exit 1
  fi
  sleep 0.2
done
