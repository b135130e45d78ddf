// A module of its own: what signs releases is no part of sbx.
module github.com/sbx-sandbox/sbx/packaging/macsign

go 1.26.0

require github.com/goreleaser/quill v0.0.0-20260630015114-8310f3e9a321

require (
	github.com/anchore/go-macholibre v0.0.0-20250826193721-3cd206ca93aa // indirect
	github.com/github/smimesign v0.2.0 // indirect
	github.com/go-restruct/restruct v1.2.0-alpha // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/scylladb/go-set v1.0.3-0.20200225121959-cc7b2070d91e // indirect
	golang.org/x/crypto v0.49.0 // indirect
	software.sslmate.com/src/go-pkcs12 v0.7.3 // indirect
)
