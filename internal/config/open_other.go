//go:build !unix

package config

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func exists(path string) (bool, error) { _, err := readSafe(policy.User, path); return false, err }

func readSafe(_ policy.Layer, path string) ([]byte, error) {
	return nil, &FileError{Path: path, Text: "who can write a file is not known on this system", Err: errors.ErrUnsupported}
}

func readAlone(path string) ([]byte, error) { return readSafe(policy.User, path) }
