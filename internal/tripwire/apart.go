// SPDX-License-Identifier: Apache-2.0

package tripwire

import "errors"

// Apart says which paths lie on file systems that ask another machine or program,
// which may never answer. Links in a path are followed. Nothing is looked at there, and what was
// seen there once counts as it was: no command
// in a sandbox can mount anything on the host. nil stands for "none".
var Apart func(path string) bool

// errApart is what Look says of such a path.
var errApart = errors.New("it is on a file system that may give no answer")

func apart(path string) bool { return Apart != nil && Apart(path) }
