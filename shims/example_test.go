// SPDX-License-Identifier: Apache-2.0

package shims_test

import (
	"fmt"

	"github.com/sbx-sandbox/sbx/shims"
)

// The name that sbx was started by says what it runs.
func ExampleParse() {
	for _, argv0 := range []string{"sbx", "/usr/bin/sbx-bash", "-sbx-sh", "/home/u/.local/share/sbx/shims/npm"} {
		n := shims.Parse(argv0, "")
		fmt.Println(n.Kind == shims.Self, n.Kind == shims.Shell, n.Kind == shims.Tool, n.Text, n.Login)
	}
	// Output:
	// true false false  false
	// false true false bash false
	// false true false  true
	// false false true npm false
}

func ExampleCheckName() {
	fmt.Println(shims.CheckName("npm"))
	fmt.Println(shims.CheckName("bash"))
	// Output:
	// <nil>
	// bash is a shell: a shim would catch every script
}

func ExampleQuote() {
	fmt.Println(shims.Quote("bash", "it's"), shims.Quote("fish", "it's"), shims.Quote("zsh", "plain"))
	// Output: 'it'\''s' 'it\'s' plain
}
