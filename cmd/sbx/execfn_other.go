//go:build !linux && !darwin

package main

import "os"

// executed is the path by which this program was executed, links kept.
func executed() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
