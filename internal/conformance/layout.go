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
	return Places{CWD: filepath.Join(dir, "proj"), Home: filepath.Join(dir, "home"), Outside: filepath.Join(dir, "out"), Tmp: filepath.Join(dir, "tmp")}
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
	`with space`, `quote"d`, `it's`, `back\slash`, `p") (allow default) (x "`, `$HOME`, `[a-z]*?`, `-dash`, `ünï-日本`, `{a,b}`, `%41`, `a=b`,
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
	link := func(path, to string) Node { return Node{path, Link, 0, to} }
	nodes := []Node{
		dir("$CWD"), file("$CWD/a"), file("$CWD/b"), file("$CWD/c"), file("$CWD/d"), file("$CWD/e"), program("$CWD/run"),
		dir("$CWD/sub"), file("$CWD/sub/a"), file("$CWD/sub/b"), file("$CWD/sub/c"), file("$CWD/sub/d"), dir("$CWD/sub/empty"), dir("$CWD/sub/move"),
		dir("$CWD/sub/deep"), file("$CWD/sub/deep/a"),
		// Secrets.
		secret("$CWD/.env"), secret("$CWD/.env.local"), secret("$CWD/server.key"), file("$CWD/.env.example"),
		// What the host runs later.
		dir("$CWD/.git"), {"$CWD/.git/HEAD", File, 0o644, "ref: refs/heads/main\n"}, {"$CWD/.git/config", File, 0o644, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"},
		dir("$CWD/.git/hooks"), program("$CWD/.git/hooks/pre-commit"), dir("$CWD/.git/objects"), dir("$CWD/.git/refs"), dir("$CWD/.git/refs/heads"), dir("$CWD/.git/info"),
		dir("$CWD/.vscode"), file("$CWD/.vscode/settings.json"), file("$CWD/.pre-commit-config.yaml"),
		link("$CWD/to-inside", "sub/a"), link("$CWD/to-outside", "$OUTSIDE/file"), link("$CWD/to-outside-dir", "$OUTSIDE"), link("$CWD/to-secret", "$HOME/.ssh/id_ed25519"), link("$CWD/to-env", ".env"), link("$CWD/to-hooks", ".git/hooks"),
		{"$CWD/host.sock", Socket, 0, ""},

		dir("$HOME"), file("$HOME/notes"), {"$HOME/.gitconfig", File, 0o644, "[user]\n\tname = u\n"}, file("$HOME/.bashrc"),
		private("$HOME/.ssh"), secret("$HOME/.ssh/id_ed25519"), program("$HOME/.ssh/run"), private("$HOME/.aws"), secret("$HOME/.aws/credentials"), secret("$HOME/.netrc"), secret("$HOME/.bash_history"),
		private("$HOME/.docker"), secret("$HOME/.docker/config.json"), dir("$HOME/.config"), dir("$HOME/.config/gh"), secret("$HOME/.config/gh/hosts.yml"), dir("$HOME/.config/tool"), file("$HOME/.config/tool/settings"),
		dir("$HOME/.cache"), dir("$HOME/.cache/tool"), file("$HOME/.cache/tool/file"),
		dir("$HOME/.local"), dir("$HOME/.local/bin"), program("$HOME/.local/bin/tool"), dir("$HOME/dir"), file("$HOME/dir/file"), program("$HOME/dir/run"),
		dir("$HOME/Library"), private("$HOME/Library/Keychains"), secret("$HOME/Library/Keychains/login.keychain-db"), {"$HOME/host.sock", Socket, 0, ""},

		dir("$OUTSIDE"), file("$OUTSIDE/file"), file("$OUTSIDE/other"), program("$OUTSIDE/run"), dir("$OUTSIDE/dir"), file("$OUTSIDE/dir/file"), dir("$OUTSIDE/empty"), {"$OUTSIDE/host.sock", Socket, 0, ""},
	}
	for _, name := range Odd {
		nodes = append(nodes, file("$CWD/sub/"+name), dir("$HOME/dir/"+name), secret("$HOME/dir/"+name+"/file"))
	}
	return nodes
}

// Build makes the fixture in a directory that exists. Nobody listens at its
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
