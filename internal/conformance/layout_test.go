// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Kind is what a [Node] is.
type Kind int

const (
	Dir Kind = iota
	File
	Link
	Socket // of the host's
)

// Node is a file of the fixture. Path and Text, the content of a file or the
// target of a link, hold placeholders.
type Node struct {
	Path string
	Kind Kind
	Mode os.FileMode // of directories and files
	Text string
}

// Places is where a fixture lies; all are absolute and without links.
type Places struct {
	CWD     string // the project, a git repository
	Home    string
	Outside string // a directory that no profile speaks of
	Tmp     string // TMPDIR of the caller
}

// In is the places of a fixture in a directory. Each profile closes the one for
// temporary files, so a fixture belongs below /tmp, on macOS /private/tmp.
func In(dir string) Places {
	return Places{CWD: filepath.Join(dir, "proj"), Home: filepath.Join(dir, "home"), Outside: filepath.Join(dir, "out"),
		Tmp: filepath.Join(dir, "tmp")}
}

// Expand replaces $CWD, $HOME and $OUTSIDE at the front of a target. $TMP, the
// command's own TMPDIR, is for the command to replace.
func (p Places) Expand(target string) string {
	for _, v := range [][2]string{{"$CWD", p.CWD}, {"$HOME", p.Home}, {"$OUTSIDE", p.Outside}} {
		if rest, ok := strings.CutPrefix(target, v[0]); ok && (rest == "" || rest[0] == '/') {
			return v[1] + rest
		}
	}
	return target
}

// Marker is what a program of the fixture prints.
const Marker = "the program ran"

// Odd are names that a careless writer of profiles or arguments gets wrong.
var Odd = []string{
	`with space`, `quote"d`, `it's`, `back\slash`, `p") (allow default) (x "`, `$HOME`, `[a-z]*?`, `-dash`, `ünï-日本`,
	`{a,b}`, `%41`, `a=b`,
}

// Layout is the fixture, parents first: a home and a project with secrets,
// things that are protected, links, sockets and odd names, and a directory
// beside them.
func Layout() []Node {
	dir := func(path string) Node { return Node{path, Dir, 0o755, ""} }
	private := func(path string) Node { return Node{path, Dir, 0o700, ""} }
	file := func(path string) Node { return Node{path, File, 0o644, "content of " + path + "\n"} }
	secret := func(path string) Node { return Node{path, File, 0o600, "secret of " + path + "\n"} }
	program := func(path string) Node { return Node{path, File, 0o755, "#!/bin/sh\necho " + Marker + "\n"} }
	listener := func(path string) Node { return Node{path, Socket, 0, ""} }
	var nodes []Node
	add := func(in string, node func(path string) Node, names string) {
		for _, name := range strings.Fields(names) {
			nodes = append(nodes, node(strings.TrimSuffix(in+"/"+name, "/.")))
		}
	}
	add("$CWD", dir, ". sub sub/empty sub/move sub/deep .vscode")
	add("$CWD", dir, ".git .git/hooks .git/objects .git/refs .git/refs/heads .git/info")
	add("$CWD", file, "a b c d e sub/a sub/b sub/c sub/d sub/deep/a .env.example")
	add("$CWD", file, ".vscode/settings.json .pre-commit-config.yaml") // what the host runs later
	add("$CWD", program, "run .git/hooks/pre-commit")
	add("$CWD", secret, ".env .env.local server.key")
	add("$CWD", listener, "host.sock")
	add("$HOME", dir, ". .config .config/gh .config/tool .cache .cache/tool .local .local/bin dir Library")
	add("$HOME", private, ".ssh .aws .docker Library/Keychains")
	add("$HOME", file, "notes .bashrc .config/tool/settings .cache/tool/file dir/file")
	add("$HOME", program, ".ssh/run .local/bin/tool dir/run")
	add("$HOME", secret, ".ssh/id_ed25519 .aws/credentials .netrc .bash_history .docker/config.json")
	add("$HOME", secret, ".config/gh/hosts.yml Library/Keychains/login.keychain-db")
	add("$HOME", listener, "host.sock")
	add("$OUTSIDE", dir, ". dir empty")
	add("$OUTSIDE", file, "file other dir/file")
	add("$OUTSIDE", program, "run")
	add("$OUTSIDE", listener, "host.sock")
	nodes = append(nodes, Node{"$HOME/.gitconfig", File, 0o644, "[user]\n\tname = u\n"},
		Node{"$CWD/.git/HEAD", File, 0o644, "ref: refs/heads/main\n"},
		Node{"$CWD/.git/config", File, 0o644, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"})
	for _, link := range [][2]string{{"inside", "sub/a"}, {"outside", "$OUTSIDE/file"}, {"outside-dir", "$OUTSIDE"},
		{"secret", "$HOME/.ssh/id_ed25519"}, {"env", ".env"}, {"hooks", ".git/hooks"}} {
		nodes = append(nodes, Node{"$CWD/to-" + link[0], Link, 0, link[1]})
	}
	for _, name := range Odd {
		nodes = append(nodes, file("$CWD/sub/"+name), dir("$HOME/dir/"+name), secret("$HOME/dir/"+name+"/file"))
	}
	return nodes
}

// Build makes the fixture in a directory that exists. No process listens at its
// sockets yet.
func Build(dir string) (Places, error) {
	p := In(dir)
	if err := os.Mkdir(p.Tmp, 0o700); err != nil {
		return p, err
	}
	for _, n := range Layout() {
		if err := p.build(n); err != nil {
			return p, fmt.Errorf("fixture: %w", err)
		}
	}
	return p, nil
}

func (p Places) build(n Node) error {
	path := p.Expand(n.Path)
	switch n.Kind {
	case Dir:
		if err := os.Mkdir(path, n.Mode); err != nil {
			return err
		}
		return os.Chmod(path, n.Mode)
	case File:
		if err := os.WriteFile(path, []byte(n.Text), n.Mode); err != nil {
			return err
		}
		return os.Chmod(path, n.Mode)
	case Link:
		return os.Symlink(p.Expand(n.Text), path)
	case Socket:
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	}
	return fmt.Errorf("%s: no such kind of file", n.Path)
}
