// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Act is what a program does: requests that must all be allowed. Which requests a
// system call makes is inferred from what its callers met, not read from Apple's
// source; where that is open, an act has fewer rather than more, so that a table
// of attacks errs on the side of "allowed".
type Act struct {
	Name  string
	Steps []Request
}

// actionTable has the actions of the package's description: what each target is,
// with a ? at the end where it may be missing, and what is asked about it.
//
//	name  target,target?  [it:|to:|REQUEST:]operation[=KIND] …
//
// "it:" is about a file that is meant itself, also where it is a link, "to:" about
// the last of two; REQUEST is that of an ioctl, KIND what node it is.
const actionTable = `
read          path                file-read-data
list          path                file-read-data=DIRECTORY
stat          path                file-read-metadata
lstat         path                it:file-read-metadata
readlink      path                it:file-read-metadata=SYMLINK
exists        path                file-test-existence
getxattr      path                file-read-xattr
setxattr      path                file-write-xattr
write         path                file-write-data
create        path                it:file-write-create file-write-data
unlink        path                it:file-write-unlink
mkdir         path                it:file-write-create=DIRECTORY
rename        path,path           it:file-write-unlink to:file-write-create
rename-over   path,path           it:file-write-unlink to:file-write-create to:file-write-unlink
link          path,path           it:file-link to:file-write-create
clone         path,path           it:file-clone to:file-write-create
symlink       text,path           it:file-write-create=SYMLINK
chmod         path                file-write-mode
setuid        path                file-write-mode file-write-setugid
chown         path                file-write-owner
chflags       path                file-write-flags
utimes        path                file-write-times
exec          path                process-exec*
interpret     path                process-exec-interpreter
map           path                file-read-data file-map-executable
connect       path                network-outbound
bind          path                network-bind it:file-write-create=SOCKET
connect-ip    address,transport?  network-outbound
listen-ip     address,transport?  network-bind network-inbound
socket        domain,protocol?    system-socket
mach          name                mach-lookup
mach-register name                mach-register
sysctl        name                sysctl-read
sysctl-write  name                sysctl-write
signal        process             signal
process-info  process             process-info-pidinfo
task-port     process             mach-priv-task-port
ioctl         path,ioctl          file-ioctl=CHARACTER-DEVICE
tty           path                TIOCSETA:file-ioctl=CHARACTER-DEVICE file-read-data=CHARACTER-DEVICE file-write-data=CHARACTER-DEVICE
pty           nothing?            pseudo-tty
shm           name                ipc-posix-shm-read-data
shm-create    name                ipc-posix-shm-write-create ipc-posix-shm-write-data
sem           name                ipc-posix-sem-create ipc-posix-sem-open
pref          name                user-preference-read
pref-write    name                user-preference-write
fork          nothing?            process-fork
`

type action struct{ targets, requests []string }

var actions = parseActions()

func parseActions() map[string]action {
	out := make(map[string]action)
	for line := range strings.Lines(strings.TrimSpace(actionTable)) {
		f := strings.Fields(line)
		out[f[0]] = action{strings.Split(f[1], ","), f[2:]}
	}
	return out
}

// Do is an act in the words of a table: Do("rename", "/a", "/b"). It panics where
// [ParseAct] returns an error.
func Do(words ...string) Act {
	a, err := ParseAct(words)
	if err != nil {
		panic("sbpltest: " + err.Error())
	}
	return a
}

// ParseAct takes the words of a row after its verdicts: an action, targets, and
// kind=… or extension=….
func ParseAct(words []string) (Act, error) {
	var targets []string
	var kind string
	var extensions []string
	for _, w := range words[1:] {
		if v, ok := strings.CutPrefix(w, "kind="); ok {
			kind = v
		} else if v, ok := strings.CutPrefix(w, "extension="); ok {
			extensions = append(extensions, v)
		} else {
			targets = append(targets, w)
		}
	}
	if kind != "" && !slices.Contains(constants, kind) {
		return Act{}, fmt.Errorf("%q is no kind of node", kind)
	}
	steps, err := makeRequests(words[0], targets)
	if err != nil {
		return Act{}, fmt.Errorf("%s: %w", words[0], err)
	}
	for i := range steps {
		if s := &steps[i]; s.Path != "" && kind != "" {
			s.Kind = kind
		}
		steps[i].Extensions = extensions
	}
	return Act{Name: strings.Join(words, " "), Steps: steps}, nil
}

func makeRequests(name string, given []string) ([]Request, error) {
	a, ok := actions[name]
	if !ok {
		r, err := makeOperation(name, given)
		return []Request{r}, err
	}
	wanted := slices.DeleteFunc(slices.Clone(a.targets), func(t string) bool { return strings.HasSuffix(t, "?") })
	if len(given) < len(wanted) || len(given) > len(a.targets) {
		return nil, fmt.Errorf("%d targets where %d are wanted", len(given), len(wanted))
	}
	steps := make([]Request, len(a.requests))
	for i, word := range a.requests {
		how, op, ok := strings.Cut(word, ":")
		if !ok {
			how, op = "", word
		}
		r := &steps[i]
		r.Op, r.Kind, _ = strings.Cut(op, "=")
		r.NoFollow, r.Ioctl = how == "it" || how == "to", ioctls[how]
		for j, target := range given {
			if r.Path != "" && how != "to" && a.targets[j] == "path" {
				continue
			}
			if err := r.about(strings.TrimSuffix(a.targets[j], "?"), target); err != nil {
				return nil, err
			}
		}
	}
	return steps, nil
}

// about adds a target to a request.
func (r *Request) about(what, target string) error {
	var err error
	ok := true
	switch what {
	case "path":
		r.Path, ok = target, strings.HasPrefix(target, "/")
		what = "not absolute"
	case "name":
		r.Name = target
	case "process":
		r.Target, ok = target, targets[target] != nil
		what = fmt.Sprintf("no process: one of %q", slices.Sorted(maps.Keys(targets)))
	case "address":
		if r.Net = "tcp"; r.Op == "network-outbound" {
			r.Remote = target
		} else {
			r.Local = target
		}
		host, port, splitErr := net.SplitHostPort(target)
		_, err = strconv.ParseUint(port, 10, 16)
		ok = splitErr == nil && (host == "localhost" || net.ParseIP(host) != nil)
		what = "not ADDRESS:PORT"
	case "transport":
		r.Net, ok = target, target == "tcp" || target == "udp"
		what = "neither tcp nor udp, behind ADDRESS:PORT"
	case "domain":
		r.Domain, ok = target, strings.HasPrefix(target, "AF_")
		what = "no domain of sockets"
	case "protocol":
		r.Protocol, err = strconv.Atoi(target)
		what = "no protocol"
	case "ioctl":
		if r.Ioctl, ok = ioctls[target]; !ok {
			r.Ioctl, err = strconv.ParseInt(target, 0, 64)
			ok, what = true, "no ioctl that is known"
		}
	case "nothing":
		ok, what = target == "-", "nothing that this is about"
	}
	if !ok || err != nil {
		return fmt.Errorf("%q is %s", target, what)
	}
	return nil
}

// makeOperation takes an operation for an action, with what it is about.
func makeOperation(name string, about []string) (Request, error) {
	r := Request{Op: name}
	op := operations[name]
	if op == nil {
		return r, errors.New("neither an action nor an operation")
	}
	if len(about) > 1 {
		return r, errors.New("an operation is about one thing")
	}
	if len(about) == 1 && about[0] != "-" {
		switch {
		case strings.HasPrefix(about[0], "/"):
			r.Path = about[0]
		case targets[about[0]] != nil && op.takes("target"):
			r.Target = about[0]
		default:
			r.Name = about[0]
		}
	}
	return r, nil
}

// Check says whether a program can do something, and what decided: the rule that
// denied, or that allowed the last step. Links on the way to a path have to be
// read as well.
func (p *Profile) Check(m Model, a Act) (allowed bool, rule string) {
	if len(a.Steps) == 0 {
		return false, "no act"
	}
	for _, step := range a.Steps {
		if _, ok := p.opts.operation(step.Op); !ok && operations[step.Op] != nil {
			continue // no one asks
		}
		for _, s := range p.withLinks(step) {
			d := p.Decide(m, s)
			if rule = s.String() + ": " + d.Why; !d.Allowed {
				return false, rule
			}
		}
	}
	return true, rule
}

// withLinks is a request after those about links on the way.
func (p *Profile) withLinks(r Request) []Request {
	if r.Path == "" {
		return []Request{r}
	}
	var steps []Request
	for _, l := range p.resolve(&r) {
		steps = append(steps, Request{Op: "file-read-metadata", Path: l, NoFollow: true, Kind: "SYMLINK"})
	}
	return append(steps, r)
}

// Agree returns an error that names each act on which the two models differ, with
// what each of them goes by.
func (p *Profile) Agree(acts ...Act) error {
	var errs []error
	for _, a := range acts {
		naive, why := p.Check(Naive, a)
		observed, because := p.Check(Observed, a)
		if naive != observed {
			errs = append(errs, fmt.Errorf("%s: naive %s by %s; observed %s by %s",
				a.Name, verdict(naive), why, verdict(observed), because))
		}
	}
	return errors.Join(errs...)
}

func verdict(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "deny"
}
