// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os/exec"
)

func engines() []engine {
	return []engine{{"sandbox-exec", "full", 0, func() error {
		// As sbx uses it, without asking sbx.
		out, err := exec.Command("/usr/bin/sandbox-exec", "-p", "(version 1)(allow default)",
			"/usr/bin/true").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}}}
}
