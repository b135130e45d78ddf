// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package verify

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// Probe fails: there is no sandbox on other systems.
func Probe([]string) int { return host.StatusFailed }

// Outside fails: there is no sandbox on other systems.
func Outside(*Subject) (*Report, error) { return nil, errors.ErrUnsupported }

// Here fails: there is no sandbox on other systems.
func Here(*Manifest, []string) (*Report, error) { return nil, errors.ErrUnsupported }
