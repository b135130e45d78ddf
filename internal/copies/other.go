// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package copies

import "errors"

// The engines of other systems can protect every path, and no run needs copies.
var errNone = errors.New("copies are not kept on this system")

// Take fails.
func (Store) Take(_, _ []string) ([]int, error) { return nil, errNone }

// Finish fails.
func (Store) Finish(int) (Result, error) { return Result{}, errNone }

// Recover does nothing.
func (Store) Recover() (Result, error) { return Result{}, nil }
