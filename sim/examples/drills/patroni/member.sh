#!/bin/sh
# Patroni with its PostgreSQL, which does not run as root, and whose programs Debian keeps out of the PATH.
if [ "$(id -u)" = 0 ]; then
  chown postgres "$1" && chmod 700 "$1"
  exec setpriv --reuid=postgres --regid=postgres --init-groups -- sh "$0" "$@"
fi
PATRONI_POSTGRESQL_BIN_DIR=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
export PATRONI_POSTGRESQL_BIN_DIR
exec "$2" patroni.yml
