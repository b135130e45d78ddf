// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

func TestSupposed(t *testing.T) {
	for system, name := range map[string]string{"darwin": host.EngineSeatbelt, "linux": host.EngineBwrap} {
		if c := Supposed(&host.Host{Facts: host.Facts{OS: system}}, engine.Chosen{}); c.Name != name || (c.Bwrap.Path != "") != (system == "linux") {
			t.Errorf("%s: %s, %v", system, c.Name, c.Bwrap)
		}
	}
}
