#!/bin/sh
# Compiles main.go into a program that needs no library, and makes an image of it with Docker, or with Podman.
set -e
cd "$(dirname "$0")"
GO111MODULE=off GOPATH=/usr/share/gocode CGO_ENABLED=0 go build -o "$1/billing" main.go
engine=docker
docker version >/dev/null 2>&1 || engine=podman
$engine build --quiet --tag fencepost-billing --file Dockerfile "$1"
