// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func newRemotes() *remotes {
	r := &remotes{ask: answered}
	r.table, _ = OS{}.Mounts() // who needs the table asks again
	for i := range r.table {
		if m := &r.table[i]; remoteType(m.Type) && !policy.WithinAny(m.Point, "/proc", "/sys") {
			r.far = append(r.far, i)
		}
	}
	return r
}

// answerTime bounds the wait for all the mounts that are asked at one time.
const answerTime = 3 * time.Second

// answered starts a process that looks at paths, and reports which of them it
// came back from. That process may stay until the mount answers or goes: it can be neither
// ended nor waited for. When it could not be started nothing is known, and
// all goes on as it would without.
func answered(paths []string) []bool {
	done := make([]bool, len(paths))
	fail := func() []bool { return slices.Repeat([]bool{true}, len(paths)) }
	out, in, err := os.Pipe()
	if err != nil {
		return fail()
	}
	defer out.Close()
	p, err := os.StartProcess("/proc/self/exe", append([]string{"sbx", askWord}, paths...),
		&os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{nil, in, nil}})
	in.Close()
	if err != nil {
		return fail()
	}
	_ = out.SetReadDeadline(time.Now().Add(answerTime))
	buf := make([]byte, 1)
	for range paths {
		n, err := out.Read(buf)
		switch {
		case n == 1 && int(buf[0]) < len(done):
			done[buf[0]] = true
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = p.Kill()
			_ = p.Release()
			return done
		default: // it has gone, and not for a mount
			_, _ = p.Wait()
			return fail()
		}
	}
	_, _ = p.Wait()
	return done
}
