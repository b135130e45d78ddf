package policy

import "github.com/sbx-sandbox/sbx/internal/text"

// Quote is [text.Quote].
func Quote(s string) string { return text.Quote(s) }

// Plain is [text.Plain].
func Plain(s string) string { return text.Plain(s) }

// Escape is [text.Escape].
func Escape(s string) string { return text.Escape(s) }

// Nearest is [text.Nearest].
func Nearest(word string, known []string) string { return text.Nearest(word, known) }
