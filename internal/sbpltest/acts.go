// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
)

// Act is what a program does: requests that must all be allowed. Which requests a
// system call makes is inferred from what its callers met, not read from Apple's
// source; where that is open, an act has fewer rather than more, so that a table
// of attacks errs on the side of "allowed".
type Act struct {
	Name  string
	Steps []Request
}

func act(name string, steps ...Request) Act { return Act{name, steps} }

func file(op, path string) Request { return Request{Op: op, Path: path} }

// itself is a file that is meant itself, also where it is a link.
func itself(op, path string) Request { return Request{Op: op, Path: path, NoFollow: true} }

func create(path, kind string) Request {
	return Request{Op: "file-write-create", Path: path, NoFollow: true, Kind: kind}
}

// OpenRead is open(2) for reading.
func OpenRead(path string) Act { return act("read "+path, file("file-read-data", path)) }

// List is readdir(3).
func List(path string) Act {
	return act("list "+path, Request{Op: "file-read-data", Path: path, Kind: "DIRECTORY"})
}

// Stat is stat(2), Lstat its twin for a link itself.
func Stat(path string) Act  { return act("stat "+path, file("file-read-metadata", path)) }
func Lstat(path string) Act { return act("lstat "+path, itself("file-read-metadata", path)) }

// Readlink is readlink(2).
func Readlink(path string) Act {
	return act("readlink "+path, Request{Op: "file-read-metadata", Path: path, NoFollow: true, Kind: "SYMLINK"})
}

// Getxattr and Setxattr are about extended attributes.
func Getxattr(path string) Act { return act("getxattr "+path, file("file-read-xattr", path)) }
func Setxattr(path string) Act { return act("setxattr "+path, file("file-write-xattr", path)) }

// Exists is access(2) with F_OK.
func Exists(path string) Act { return act("exists "+path, file("file-test-existence", path)) }

// OpenWrite is open(2) for writing to a file that exists.
func OpenWrite(path string) Act { return act("write "+path, file("file-write-data", path)) }

// Create is open(2) with O_CREAT of a file that does not exist, and a first write.
func Create(path string) Act {
	return act("create "+path, create(path, ""), file("file-write-data", path))
}

// Unlink is unlink(2) or rmdir(2).
func Unlink(path string) Act { return act("unlink "+path, itself("file-write-unlink", path)) }

// Mkdir is mkdir(2).
func Mkdir(path string) Act { return act("mkdir "+path, create(path, "DIRECTORY")) }

// Symlink is symlink(2): where it leads to no one asks.
func Symlink(target, link string) Act {
	return act("symlink "+target+" "+link, create(link, "SYMLINK"))
}

// Rename is rename(2) to a name that is free, RenameOver to one that is not.
func Rename(from, to string) Act {
	return act("rename "+from+" "+to, itself("file-write-unlink", from), create(to, ""))
}

func RenameOver(from, to string) Act {
	a := Rename(from, to)
	return act("rename-over "+from+" "+to, append(a.Steps, itself("file-write-unlink", to))...)
}

// Link is link(2): another name for a file.
func Link(from, to string) Act {
	return act("link "+from+" "+to, itself("file-link", from), create(to, ""))
}

// Clone is clonefile(2).
func Clone(from, to string) Act {
	return act("clone "+from+" "+to, itself("file-clone", from), create(to, ""))
}

// Chmod, Setuid (chmod of u+s), Chown, Chflags and Utimes change a file's status.
func Chmod(path string) Act { return act("chmod "+path, file("file-write-mode", path)) }
func Setuid(path string) Act {
	return act("setuid "+path, file("file-write-mode", path), file("file-write-setugid", path))
}
func Chown(path string) Act   { return act("chown "+path, file("file-write-owner", path)) }
func Chflags(path string) Act { return act("chflags "+path, file("file-write-flags", path)) }
func Utimes(path string) Act  { return act("utimes "+path, file("file-write-times", path)) }

// Exec is execve(2) of a program, Interpret of a script's interpreter.
func Exec(path string) Act { return act("exec "+path, file("process-exec*", path)) }
func Interpret(path string) Act {
	return act("interpret "+path, file("process-exec-interpreter", path))
}

// MapExec is dlopen(3).
func MapExec(path string) Act {
	return act("map "+path, file("file-read-data", path), file("file-map-executable", path))
}

// Connect and Bind are about a socket with a path.
func Connect(path string) Act { return act("connect "+path, file("network-outbound", path)) }
func Bind(path string) Act {
	return act("bind "+path, file("network-bind", path), create(path, "SOCKET"))
}

// ConnectIP and ListenIP take "HOST:PORT" with a number for host, or localhost,
// and tcp or udp. Who listens wants to be reached too.
func ConnectIP(address, proto string) Act {
	return act("connect-ip "+address+" "+proto, Request{Op: "network-outbound", Net: proto, Remote: address})
}

func ListenIP(address, proto string) Act {
	return act("listen-ip "+address+" "+proto,
		Request{Op: "network-bind", Net: proto, Local: address},
		Request{Op: "network-inbound", Net: proto, Local: address})
}

// Socket is socket(2) as far as the sandbox asks: of AF_UNIX, AF_SYSTEM, AF_ROUTE.
func Socket(domain string, protocol int) Act {
	return act(fmt.Sprintf("socket %s %d", domain, protocol),
		Request{Op: "system-socket", Domain: domain, Protocol: protocol})
}

// MachLookup asks launchd for a service, MachRegister becomes one.
func MachLookup(name string) Act {
	return act("mach "+name, Request{Op: "mach-lookup", Name: name})
}
func MachRegister(name string) Act {
	return act("mach-register "+name, Request{Op: "mach-register", Name: name})
}

// Signal, ProcessInfo (proc_pidinfo) and TaskPort (task_for_pid) are about another
// process, or self.
func Signal(target string) Act {
	return act("signal "+target, Request{Op: "signal", Target: target})
}
func ProcessInfo(target string) Act {
	return act("process-info "+target, Request{Op: "process-info-pidinfo", Target: target})
}
func TaskPort(target string) Act {
	return act("task-port "+target, Request{Op: "mach-priv-task-port", Target: target})
}

// Sysctl reads a value of sysctl(3), SysctlWrite sets it.
func Sysctl(name string) Act { return act("sysctl "+name, Request{Op: "sysctl-read", Name: name}) }
func SysctlWrite(name string) Act {
	return act("sysctl-write "+name, Request{Op: "sysctl-write", Name: name})
}

// Ioctl is ioctl(2) of an open device.
func Ioctl(path string, request int64) Act {
	return act(fmt.Sprintf("ioctl %s %#x", path, request),
		Request{Op: "file-ioctl", Path: path, Kind: "CHARACTER-DEVICE", Ioctl: request})
}

// Terminal is what a shell does with its terminal: read, write, raw mode.
func Terminal(path string) Act {
	a := Ioctl(path, ioctls["TIOCSETA"])
	tty := func(op string) Request { return Request{Op: op, Path: path, Kind: "CHARACTER-DEVICE"} }
	return act("tty "+path, append(a.Steps, tty("file-read-data"), tty("file-write-data"))...)
}

// Shm reads POSIX shared memory, ShmCreate makes and fills it, Sem makes a semaphore.
func Shm(name string) Act {
	return act("shm "+name, Request{Op: "ipc-posix-shm-read-data", Name: name})
}
func ShmCreate(name string) Act {
	return act("shm-create "+name,
		Request{Op: "ipc-posix-shm-write-create", Name: name}, Request{Op: "ipc-posix-shm-write-data", Name: name})
}
func Sem(name string) Act {
	return act("sem "+name, Request{Op: "ipc-posix-sem-create", Name: name}, Request{Op: "ipc-posix-sem-open", Name: name})
}

// Pref reads preferences of a domain by cfprefsd, PrefWrite sets them.
func Pref(domain string) Act {
	return act("pref "+domain, Request{Op: "user-preference-read", Name: domain})
}
func PrefWrite(domain string) Act {
	return act("pref-write "+domain, Request{Op: "user-preference-write", Name: domain})
}

// Do is a single operation: Do(Request{Op: "lsopen"}).
func Do(r Request) Act { return act(r.String(), r) }

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
