package main

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sbx-sandbox/sbx/policy"
)

// shellLine quotes words so that a person can paste them into a shell.
func shellLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			q = policy.Quote(w)
		}
		out[i] = q
	}
	return strings.Join(out, " ")
}
