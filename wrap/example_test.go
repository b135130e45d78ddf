// SPDX-License-Identifier: Apache-2.0

package wrap_test

import (
	"fmt"
	"log"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/wrap"
)

// Run a command under a built-in profile. Everything up to Exec only reads.
func Example() {
	h, err := host.Detect()
	if err != nil {
		log.Fatal(err)
	}
	vars := policy.Vars{CWD: h.CWD, Root: h.CWD, Home: h.Homes[0]}
	pol, err := policy.Resolve(profiles.Builtin(), []string{"moderate"}, vars)
	if err != nil {
		log.Fatal(err)
	}
	chosen, err := wrap.Choose(h, "", "auto", pol.MinTier) // "" keeps no verdict on bwrap
	if err != nil {
		log.Fatal(err)
	}
	plan, err := wrap.New(engine.Request{Policy: pol, Command: []string{"make", "test"}, Engine: chosen}, h)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Engine, plan.Tier, plan.Gaps)
	log.Fatal(wrap.Exec(plan, h)) // it returns only when the command could not be started
}
