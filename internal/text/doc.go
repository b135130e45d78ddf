// SPDX-License-Identifier: Apache-2.0

// Package text puts what sbx tells into words: names that may hold anything, lists,
// tables and differences, harmless to the terminal that shows them ([Plain],
// [Quote], [Escape]) or to the shell that they are pasted into ([ShellWord]).
//
// It does not decide what is told, and knows no path, no profile and no engine.
package text
