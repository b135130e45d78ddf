// SPDX-License-Identifier: Apache-2.0

// Package copies keeps copies of files that a command could change and must not, and
// puts them back when it has ended, for an engine that cannot make them read-only.
//
// [Store.Take] is called before a run and [Store.Finish] when no process of it is left.
// The record of a run that was killed meanwhile is found by [Store.Recover] of a later
// one: a record that no process has locked. What another run of that moment keeps is
// believed before what is there now, which its command may have changed.
//
// Nothing is lost: what stands where a kept file was, or is new, is moved to a directory
// beside the records. No link is followed, whatever the command put up; it may also have
// closed, moved or replaced the directories above.
package copies

// Store is the directory of the records: a command can neither read nor write it.
type Store struct {
	Dir string // $XDG_STATE_HOME/sbx/copies
	UID int    // whose it has to be
}

// Result is what was done.
type Result struct {
	Back   []string // put back as they were
	Moved  []string // new ones, moved away
	Aside  string   // the directory where what was moved or replaced is; "" for none
	Failed []error  // what could not be put back; the record stays for the next run
}

// Something reports whether there is something to tell.
func (r *Result) Something() bool { return len(r.Back)+len(r.Moved)+len(r.Failed) > 0 }
