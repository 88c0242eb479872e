#!/bin/sh
# Builds the Go programs of this folder with Debian's packages alone. Usage: build.sh SOURCES PROTOS FOLDER
set -e
sources=$1 protos=$2 folder=$3
mkdir -p "$folder/src/wire"
# The well-known types of the library that Debian's gRPC for Go is built with.
mapping=
for name in duration timestamp wrappers; do
  mapping="$mapping,Mgoogle/protobuf/$name.proto=github.com/golang/protobuf/ptypes/$name"
done
for name in base driver hclspec structs; do
  mapping="$mapping,Mnomad/plugins/$name.proto=wire/$name/nomad/plugins"
done
for name in base driver hclspec structs; do
  mkdir -p "$folder/src/wire/$name"
  protoc -I "$protos" "--go_out=plugins=grpc$mapping:$folder/src/wire/$name" "nomad/plugins/$name.proto"
done
export GO111MODULE=off GOPATH="$folder:/usr/share/gocode" GOFLAGS=-p=1 GOCACHE="$folder/cache"
go build -o "$folder/go_driver" "$sources/driver/main.go"
go build -o "$folder/go_host" "$sources/host/main.go"
