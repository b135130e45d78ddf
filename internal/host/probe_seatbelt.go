// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// OtherEngine refuses an engine that macOS does not have, by its name.
func OtherEngine(name string) *Unavailable {
	switch name {
	case "", "auto", EngineSeatbelt:
		return nil
	}
	return Diagnostics{}.unavailable(CauseSystem, "",
		"the engine "+text.Plain(name)+" is Linux's; macOS has "+EngineSeatbelt)
}

// What a probe asks for: that walls can be put up, and that they hold. A program
// that only says that it put them up would be none.
const (
	probeOpen   = "(version 1)(allow default)"
	probeClosed = `(version 1)(allow default)(deny process-exec* (literal (param "PROBE")))`
	probed      = "/usr/bin/true"
)

// probeSeatbelt tries sandbox-exec with a run that executes words and returns
// how the program ended: its exit status, 128 and the signal for one that was
// ended, what it wrote to standard error, and an error when it was not started
// or gave no answer (os.ErrDeadlineExceeded).
func probeSeatbelt(run func(argv []string) (status int, stderr string, err error)) *Unavailable {
	words := func(profile string) []string {
		return []string{SandboxExec, "-p", profile, "-D", "PROBE=" + probed, "--", probed}
	}
	status, said, err := run(words(probeOpen))
	if u := seatbeltFailure(status, said, err); u != nil {
		return u
	}
	status, said, err = run(words(probeClosed))
	switch {
	case err == nil && status == 0:
		return because(causeToothless, causeToothless, SandboxExec,
			" enforces nothing: what its profile denies was executed anyway")
	// execvp(3) fails behind the walls, or the kernel ends who tries.
	case err == nil && !applies(said) && (strings.Contains(said, notPermitted) ||
		status == 128+int(syscall.SIGKILL) || status == 128+int(syscall.SIGABRT)):
		return nil
	}
	if u := seatbeltFailure(status, said, err); u != nil {
		return u
	}
	return strange(status, said)
}

// Exit statuses of sysexits(3).
const (
	exUsage   = 64
	exDataErr = 65
	exOSErr   = 71
)

const notPermitted = "Operation not permitted"

// seatbeltFailure is the diagnosis of a run that should have ended with 0.
func seatbeltFailure(status int, said string, err error) *Unavailable {
	is := func(errs ...error) bool {
		return slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
	}
	busy := func(why string) *Unavailable {
		return because(CauseBusy, "mac-busy", SandboxExec, " could not be tried: "+why)
	}
	switch {
	case is(os.ErrDeadlineExceeded):
		return because(CauseHangs, "mac-hangs", SandboxExec, " gives no answer")
	case is(syscall.ENOENT, syscall.ENOTDIR):
		return NoSandboxExec()
	case is(syscall.EPERM):
		return NestedSeatbelt()
	case is(syscall.EACCES, syscall.ENOEXEC, syscall.EINVAL, syscall.ELOOP):
		return because(causeNoExec, "mac-no-exec", SandboxExec, " cannot be executed: "+OneLine(err.Error()))
	case err != nil:
		return busy(OneLine(err.Error()))
	case status > 128:
		return busy("it was ended by signal " + strconv.Itoa(status-128))
	case status == 0:
		return nil
	case status == exOSErr && applies(said) && strings.Contains(said, notPermitted):
		return NestedSeatbelt()
	}
	for _, passing := range []string{"Resource temporarily unavailable", "Cannot allocate memory",
		"Too many open files",
		"Interrupted system call"} {
		if strings.Contains(said, passing) {
			return busy(passing)
		}
	}
	return strange(status, said)
}

// applies reports whether it was putting the walls up that failed.
func applies(said string) bool { return strings.Contains(said, "sandbox_apply") }

// strange is for one that answers otherwise than any that is known.
func strange(status int, said string) *Unavailable {
	what := "it ended with status " + strconv.Itoa(status) + ": " + lastLine(said)
	if status == exUsage || status == exDataErr {
		what = "it does not read the profile that it is given: " + lastLine(said)
	}
	return because(causeOther, "mac-other", SandboxExec, " does not work here: "+what)
}

func NoSandboxExec() *Unavailable {
	return because(CauseMissing, "mac-missing", SandboxExec, " does not exist, though it is part of macOS")
}

// NestedSeatbelt: a process that has walls around it may not put up others.
func NestedSeatbelt() *Unavailable {
	return Diagnostics{}.unavailable(CauseNested, "",
		"this runs inside another sandbox already, and macOS puts none into another")
}

// sandboxVars are variables by which other sandboxes tell what runs in them. They are
// anybody's to set: one only has sandbox-exec tried anew.
var sandboxVars = []string{"CODEX_SANDBOX", "SANDBOX_RUNTIME", "APP_SANDBOX_CONTAINER_ID", "SBX_MANIFEST", "SBX_TIER"}

// inOtherSandbox reports whether a variable says that there are walls around.
func inOtherSandbox(environ []string) bool {
	return slices.ContainsFunc(sandboxVars, func(name string) bool {
		_, ok := LookupEnv(environ, name)
		return ok
	})
}

// seatbeltKey is the text that a saved verdict stands under: another system has
// another program, and another start another system.
func seatbeltKey(uid int, numbers []int64, boot, version string) string {
	var b strings.Builder
	b.WriteString("sbx seatbelt 1\n" + strconv.Itoa(uid) + " ")
	for _, n := range numbers {
		b.WriteString(strconv.FormatInt(n, 10) + " ")
	}
	return b.String() + "\n" + strconv.Quote(boot) + " " + strconv.Quote(version) + "\n"
}

// UserTemp reports whether a canonical path is the directory for temporary files
// that macOS makes for each user (confstr(3), _CS_DARWIN_USER_TEMP_DIR).
func UserTemp(path string) bool {
	rest, ok := strings.CutPrefix(path, "/private/var/folders/")
	f := strings.Split(rest, "/")
	return ok && len(f) == 3 && f[0] != "" && f[1] != "" && f[2] == "T"
}

// DataVolume is where macOS shows the volume of the user's files once more. The
// same lies at / by way of firmlinks, which is where it is called by.
const DataVolume = "/System/Volumes/Data"

// firmlinked is the name that a path on the data volume has from / on, and
// false for any other.
func firmlinked(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, DataVolume+"/")
	return "/" + rest, ok && rest != ""
}

// sameSpelling reports whether a name can be another spelling of a path: a volume
// may take letters of any case, and composed and decomposed ones for the same.
// Of a file with several names only the case tells that it is no other of them.
func sameSpelling(path, name string, several bool) bool {
	return strings.EqualFold(path, name) || !several &&
		strings.ContainsFunc(path+name, func(r rune) bool { return r >= 0x80 }) &&
		strings.Count(path, "/") == strings.Count(name, "/")
}

// dsclValue is the value of an attribute in what dscl(1) writes: "NAME: VALUE",
// or for one with a space in it the value on a line of its own.
func dsclValue(out, name string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		value, ok := strings.CutPrefix(line, name+":")
		switch {
		case !ok:
		case value == "" && i+1 < len(lines):
			return strings.TrimPrefix(lines[i+1], " ")
		default:
			return strings.TrimPrefix(value, " ")
		}
	}
	return ""
}

// plainUser reports whether a name can stand in a path of dscl's.
func plainUser(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsAny(name, "/\n\x00")
}
