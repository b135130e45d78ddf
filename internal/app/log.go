// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// logger writes to standard error when a level was asked for.
func logger(level string) hclog.Logger {
	if level == "" {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Name: "sbx", Level: hclog.LevelFromString(level), Output: escaped{}})
}

// escaped is standard error, for records that may hold any name.
type escaped struct{}

func (escaped) Write(record []byte) (int, error) {
	if _, err := os.Stderr.WriteString(text.Escape(string(record))); err != nil {
		return 0, err
	}
	return len(record), nil
}
