// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package wrap

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/caches"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

func failed(reason string) *host.Error {
	return &host.Error{Status: host.StatusFailed, Text: "Failed to initialize sandbox: " + reason}
}

// makeDirs makes the directories of a plan and, where one is for the run alone,
// removes those of earlier runs. The first run in a project removes the caches of
// projects that are gone.
func makeDirs(p *engine.Plan, h *host.Host) error {
	for _, dir := range p.Dirs {
		if _, err := ownfile.Make(dir, h.UID); err != nil {
			return failed("sbx's own directory: " + err.Error())
		}
	}
	if p.CacheDir != "" {
		store := caches.Store{Dir: policy.Dir(p.CacheDir), UID: h.UID}
		fresh, err := store.Note(host.Base(p.CacheDir), p.CacheOf)
		if err != nil {
			return failed("private cache: " + err.Error())
		}
		if fresh {
			store.Sweep(func(path string) bool { return !h.OnRemote(path) })
		}
	}
	if p.SeedFrom != "" {
		_ = caches.SeedNpm(p.SeedFrom, p.SeedTo, 2*time.Second) // without, npm has the less
	}
	if p.Session != "" {
		sweep(policy.Dir(p.Session), p.Session[len(policy.Dir(p.Session))+1:], h.UID)
	}
	return nil
}

// writeFiles makes the planned files.
func writeFiles(p *engine.Plan) error {
	for _, f := range p.Files {
		if err := writeNew(f); err != nil {
			return failed(err.Error())
		}
	}
	return nil
}

// writeNew makes a file that was not there. A run that has the number and the
// start of another cannot be, so what is there is not sbx's.
func writeNew(f engine.OwnFile) error {
	out, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o400)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	return errors.Join(err, out.Close())
}
