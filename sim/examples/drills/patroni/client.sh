#!/bin/sh
# A client of one of the databases, whatever its role is: a follower refuses to write.
while :; do
  psql -qAtX "host=127.0.0.1 port=$1 user=postgres dbname=postgres" \
    -c "CREATE TABLE IF NOT EXISTS invoices (id serial)" -c "INSERT INTO invoices DEFAULT VALUES"
  sleep 0.2
done
