// SPDX-License-Identifier: Apache-2.0

// Package everyday has no code: its tests run everyday commands in throw-away
// projects, first without sbx, then with each profile and engine, and compare.
//
// testdata/rows/*.txt says which commands, and what has to come of each; see table_test.go
// for the form. go test runs a quick part, make everyday all. docs/compatibility.md is
// written from the same table.
package everyday

//go:generate go test -run TestCompatibilityPage -update
