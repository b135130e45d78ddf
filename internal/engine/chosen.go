// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/sbx-sandbox/sbx/internal/host"

// Chosen is the engine that runs the command.
type Chosen struct {
	Name  string            // host.EngineBwrap and so on; "" while there is none
	Bwrap host.Bwrap        // with bwrap
	Lack  *host.Unavailable // why it is not one of tier full; nil when it is

	// With Landlock and sandbox-exec.
	Runtime  string // where the directories of runs are; "" for nowhere
	Instance string // the name of this run's
}
