// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// patienceReplaced is how long a run may go on after something hidden was
// replaced, and how long it has to say so where it may go on.
const patienceReplaced = 3 * time.Second

// replaced proves that a run does not go on with a hidden file that the host
// replaces: in a second, short run a file in the working directory is hidden by
// name, and another one is renamed over it, as editors do.
func (sub *Subject) replaced(plan *engine.Plan, nonce string) []Result {
	if plan.Engine != host.EngineBwrap {
		return nil // rules about files, and no mounts that could be lost
	}
	r := Result{Section: secHidden, Name: "replace", Subject: "a hidden file, on the host"}
	if plan.Init == nil || plan.Init.Group == pid1.NoInit {
		r.Verdict, r.Detail = gap, "no sbx process stays to notice it (--direct, --share-pid)"
		return []Result{r}
	}
	path := filepath.Join(sub.Host.CWD, fixture+nonce+"-hidden")
	other := filepath.Join(sub.Host.CWD, fixture+nonce+"-other")
	var dir unix.Stat_t
	if unix.Stat(sub.Host.CWD, &dir) == nil {
		defer func() { _ = unix.UtimesNanoAt(unix.AT_FDCWD, sub.Host.CWD, []unix.Timespec{dir.Atim, dir.Mtim}, 0) }()
	}
	for _, name := range []string{path, other} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			r.Verdict, r.Detail = notApplicable, "this user can make no file in the working directory"
			return []Result{r}
		}
		defer os.Remove(name)
		_, _ = f.WriteString(nonce)
		f.Close()
	}
	sub.replace(&r, path, other, plan.Report.Policy.OnUnmasked == "warn")
	return []Result{r}
}

func (sub *Subject) replace(r *Result, path, other string, goesOn bool) {
	sub.Step("replacing a hidden file during a run")
	ctx, cancel := context.WithTimeout(context.Background(), patienceAll)
	defer cancel()
	tg := target{CWD: sub.Host.CWD, Remap: sub.Remap}
	run, err := sub.start(ctx, []question{{ID: 1, Act: actLook, Path: []byte(tg.at(path))}}, "--block", path)
	if err != nil {
		r.Detail = err.Error()
		return
	}
	a, ok := run.answers(func(int) {})[1]
	hidden := ok && a.File != nil && (a.File.Kind == kindAbsent || a.File.Size == 0 || !a.File.Read)
	if hidden {
		err = os.Rename(other, path)
	}
	switch {
	case !hidden || err != nil:
	case goesOn:
		time.Sleep(patienceReplaced / 3)
	default: // it has to end by itself
		defer time.AfterFunc(patienceReplaced, cancel).Stop()
		_, _ = io.Copy(io.Discard, run.out)
	}
	ended := run.end()
	r.Control = "it could be hidden, and outside it is another file now"
	var exit *exec.ExitError
	refused := errors.As(ended, &exit) && exit.ExitCode() == host.StatusFailed
	said := strings.TrimSpace(run.said.String())
	told := strings.Contains(said, "it is no longer hidden")
	r.Verdict, r.Detail = table{
		{!ok, unchecked, "the run with it ended without an answer: " + text.Plain(said)},
		{!hidden, hole, "it was not hidden in the first place"},
		{err != nil, unchecked, fmt.Sprintf("it could not be replaced: %v", err)},
		{goesOn && told, allowed, "the run warned about it and went on (on_unmasked = \"warn\")"},
		{told && refused, proved, "the run was ended at once"},
		{true, hole, "the run went on with it"},
	}.decide()
}
