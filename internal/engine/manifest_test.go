// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONText(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\t\x00\x1f\x7f", "é 😀", "\xff\xfe", "\u2028 </script>", "\ufffd"} {
		var got string
		if err := json.Unmarshal(appendJSON(nil, s), &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && s != "\xff\xfe" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}
