#!/bin/sh
# Compiles main.go within Kubernetes' source, in which the API server was compiled: it has client-go, and all that client-go imports.
# In a module of your own, k8s.io/client-go is a requirement like any other.
set -e
cd "$(dirname "$0")"
kubernetes=$PWD/../../../../target/servers/kubernetes-1.20
if [ ! -d "$kubernetes/src" ]; then
  echo 'The source of Kubernetes is not here: `FENCEPOST_SERVERS=install cargo test -p fencepost-servers kubernetes` unpacks it.' >&2
  exit 1
fi
kubernetes=$(realpath "$kubernetes")
package=src/k8s.io/kubernetes/cmd/fencepost-billing
mkdir -p "$kubernetes/$package"
cp main.go "$kubernetes/$package"
cd "$kubernetes/$package"
PATH="/usr/lib/go-1.19/bin:$PATH" GO111MODULE=off GOFLAGS= CGO_ENABLED=0 GOPATH="$kubernetes" GOCACHE="$kubernetes/cache" \
  go build -o "$1/billing" .
