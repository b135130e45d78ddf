package main

import "github.com/sbx-sandbox/sbx/wrap"

// runTool runs a tool by the name that sbx was started by.
func runTool(name string, words []string) error {
	return &wrap.Error{Status: wrap.StatusNotFound, Text: name + ": command not found"}
}
