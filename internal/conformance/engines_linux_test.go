// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os/exec"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

func engines() []engine {
	return []engine{
		{"bwrap", "full", 0, func() error {
			// As sbx uses it, without asking sbx.
			out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev",
				"/dev", "true").CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}},
		{"landlock", "reduced", landlock.ABI(), func() error {
			if abi := landlock.ABI(); abi < 6 {
				return fmt.Errorf("this kernel has version %d, and 6 is needed to hold back signals", abi)
			}
			return nil
		}},
	}
}
