// SPDX-License-Identifier: Apache-2.0

package credentials

import "strings"

// Mise is what the settings of mise say of versions of tools, and nothing else: its
// variables and tasks may hold anything. It is nil where that is not plain.
func Mise(data []byte) []byte {
	text := string(data)
	if strings.Contains(text, `"""`) || strings.Contains(text, `'''`) || strings.Contains(text, "\r") {
		return nil // a line may be no line of its own
	}
	var out strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		if i := strings.IndexByte(line, '#'); i >= 0 && strings.Count(line[:i], `"`)%2+strings.Count(line[:i], "'")%2 == 0 {
			line = line[:i] + "\n"
		}
		if bare := strings.TrimSpace(line); strings.HasPrefix(bare, "[") {
			keep = bare == "[tools]" || strings.HasPrefix(bare, "[tools.")
		}
		if keep {
			out.WriteString(line)
		}
	}
	if copied := []byte(out.String()); len(copied) > 0 && !In(copied) {
		return copied
	}
	return nil
}
