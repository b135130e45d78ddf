// SPDX-License-Identifier: Apache-2.0

// Package policy is what a sandboxed command may do, as a value.
//
// A [Profile] is what a person wrote: one TOML or HCL table, with variables
// and parents still in it. [Resolve] turns a selection of profiles into a
// [Policy]: absolute paths, environment rules, and switches, each with the
// layer it came from. A Policy says nothing of how it is enforced; package
// wrap does that.
//
// Which path rule decides: the deepest rule whose path is the file or one of
// its ancestors. At the same path a command line flag beats a file, a literal
// path beats a pattern, and otherwise block beats protect beats read-only
// beats write beats private (see [Access]).
//
// Everything here is a pure function of its arguments: no file is opened and
// no environment is read. A zero Policy grants nothing.
package policy
