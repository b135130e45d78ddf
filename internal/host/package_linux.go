package host

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Package returns the version that the system's package manager has for a
// program, "0.8.0-2+deb12u1", and "" when the program is none of a package's.
// What is read are the manager's own files below root; only rpm has to be asked.
func Package(root, path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for _, look := range []func(root, path, real string) string{dpkg, apk, pacman, rpm} {
		if v := look(root, path, real); v != "" {
			return policy.Plain(v)
		}
	}
	return ""
}

// maxDatabase bounds what is read of a package manager's files.
const maxDatabase = 64 << 20

func dpkg(root, path, real string) string {
	list, err := OS{}.Head(root+"/var/lib/dpkg/info/bubblewrap.list", 1<<20)
	if err != nil || !holdsLine(string(list), path) && !holdsLine(string(list), real) {
		return ""
	}
	fields := stanza(root+"/var/lib/dpkg/status", "Package: bubblewrap", "Status: ", "Version: ")
	if !strings.HasSuffix(fields[0], " installed") {
		return ""
	}
	return fields[1]
}

func apk(root, path, real string) string {
	if path != "/usr/bin/bwrap" && real != "/usr/bin/bwrap" {
		return ""
	}
	for _, db := range []string{"/lib/apk/db/installed", "/usr/lib/apk/db/installed"} {
		if v := stanza(root+db, "P:bubblewrap", "V:"); v[0] != "" {
			return v[0]
		}
	}
	return ""
}

func pacman(root, path, real string) string {
	if path != "/usr/bin/bwrap" && real != "/usr/bin/bwrap" {
		return ""
	}
	found, _ := filepath.Glob(root + "/var/lib/pacman/local/bubblewrap-[0-9]*")
	if len(found) != 1 {
		return ""
	}
	return strings.TrimPrefix(filepath.Base(found[0]), "bubblewrap-")
}

// rpm has a database that only itself can read.
func rpm(root, path, _ string) string {
	if root != "" || !exists("/var/lib/rpm") && !exists("/usr/lib/sysimage/rpm") {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/rpm", "-q", "--queryformat", `%{VERSION}-%{RELEASE}\n`, "-f", path)
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}, "/", time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil || strings.Contains(line, " ") {
		return ""
	}
	return line
}

func holdsLine(text, line string) bool {
	return strings.Contains("\n"+text+"\n", "\n"+line+"\n")
}

// stanza finds the paragraph with a line in a file of such and returns the
// fields that begin so, each "" when it is not there.
func stanza(file, line string, begin ...string) []string {
	out := make([]string, len(begin))
	if i, err := (OS{}).Lstat(file); err != nil || i.Kind != File || i.Size > maxDatabase {
		return out
	}
	f, err := os.Open(file)
	if err != nil {
		return out
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	here := false
	for lines.Scan() {
		text := lines.Text()
		switch {
		case text == "":
			if here {
				return out
			}
			clear(out)
		case text == line:
			here = true
		default:
			for i, b := range begin {
				if v, ok := strings.CutPrefix(text, b); ok {
					out[i] = v
				}
			}
		}
	}
	if !here || lines.Err() != nil {
		clear(out)
	}
	return out
}
