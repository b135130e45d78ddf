// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"
)

// And is "a, b and c".
func And(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Few names the first most of some words: "a, b and 3 more".
func Few(words []string, most int, separator string) string {
	if more := len(words) - most; more > 0 {
		return strings.Join(words[:most], separator) + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(words, separator)
}

// FirstOf names the first most of some words: "a, b, 3 more".
func FirstOf(words []string, most int) string {
	if more := len(words) - most; more > 0 {
		words = append(words[:most:most], strconv.Itoa(more)+" more")
	}
	return strings.Join(words, ", ")
}
