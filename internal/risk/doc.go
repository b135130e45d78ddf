// SPDX-License-Identifier: Apache-2.0

// Package risk recognises commands that are plainly destructive, so that sbx
// --no-sandbox can warn louder. Start with [Destructive].
//
// It is a courtesy and never a security boundary. It reads text: what a variable
// holds, what a script does and what a program decides by itself remain unknown.
// An empty answer means nothing, and nothing may be allowed because of it.
package risk
