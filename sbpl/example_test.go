// SPDX-License-Identifier: Apache-2.0

package sbpl_test

import (
	"fmt"

	"github.com/sbx-sandbox/sbx/sbpl"
)

// A project to read and write, with one file of it denied. The text names no
// path of the caller's: these are parameters.
func Example() {
	app := sbpl.Subpath(sbpl.Given("WRITE", "/Users/u/app"))
	profile := sbpl.Profile{
		Shut:  []sbpl.Op{sbpl.ProcessInfo},
		Allow: []sbpl.Rule{{Ops: []sbpl.Op{sbpl.FileRead, sbpl.FileWrite}, Filters: []sbpl.Filter{app}}},
		Deny: []sbpl.Rule{{
			Ops:     []sbpl.Op{sbpl.FileRead, sbpl.FileWrite},
			Filters: []sbpl.Filter{sbpl.Literal(sbpl.Given("BLOCK", "/Users/u/app/.env"))},
		}},
	}
	compiled, err := profile.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(compiled.Text)
	fmt.Println(compiled.Words()[2:])
	// Output:
	// (version 1)
	// (deny default)
	// (deny process-info*)
	// (allow file-read* file-write* (subpath (param "WRITE_0")))
	// (deny file-read* file-write* (literal (param "BLOCK_0")))
	// [-D WRITE_0=/Users/u/app -D BLOCK_0=/Users/u/app/.env]
}

// The kernel sees what a link leads to, so a rule below one would match nothing.
func ExampleProfile_Compile_links() {
	profile := sbpl.Profile{Allow: []sbpl.Rule{{
		Ops:     []sbpl.Op{sbpl.FileRead},
		Filters: []sbpl.Filter{sbpl.Subpath(sbpl.Given("READ", "/tmp/app"))},
	}}}
	_, err := profile.Compile()
	fmt.Println(err)
	// Output: "/tmp/app" leads through /tmp, which is a link to /private/tmp
}
