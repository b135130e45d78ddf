package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/shims"
	"github.com/sbx-sandbox/sbx/wrap"
)

// calledAs reads by which name sbx was started, and by which file, absolute;
// the file is "" where it is not known.
func calledAs() (shims.Name, string) {
	argv0 := ""
	if len(os.Args) > 0 {
		argv0 = os.Args[0]
	}
	if argv0 == "sbx" || strings.HasSuffix(argv0, "/sbx") {
		return shims.Name{}, argv0
	}
	file := executed()
	name := shims.Parse(argv0, file)
	if name.Kind != shims.Shell {
		return name, ""
	}
	if shims.Parse("", file).Kind != shims.Shell { // a script, of which it is the interpreter
		file = argv0
	}
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	return name, file
}

// shellNames are the names in the directory of shells: those that clients look
// for by themselves, and those that say whose they are.
var shellNames = []string{"sh", "bash", "zsh", "fish", "dash", "ksh", "sbx-sh", "sbx-bash", "sbx-zsh", "sbx-fish", "sbx-dash", "sbx-ksh"}

// packaged are where a package puts its directory of shells.
var packaged = []string{"/usr/lib/sbx/shells", "/usr/local/lib/sbx/shells"}

// shellsDir is a directory in which sbx has the names of shells: the package's,
// or one of the user's own, which is made and mended here.
func shellsDir(data string) (string, error) {
	own, err := ownPath()
	if err != nil {
		return "", err
	}
	dirs := append([]string{filepath.Join(filepath.Dir(own), "../lib/sbx/shells")}, packaged...)
	for _, dir := range dirs {
		if ourselves(filepath.Join(dir, "bash")) && ourselves(filepath.Join(dir, "sbx-sh")) {
			return dir, nil
		}
	}
	if data == "" {
		return "", &wrap.Error{Status: wrap.StatusFailed, Text: "there is no home directory to keep the names of shells in"}
	}
	dir := data + "/sbx/shells"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range shellNames {
		if err := linkTo(own, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// linkTo makes a link, or puts it in the place of another one, in one step: a
// client that finds no file of the name would take a shell without walls.
func linkTo(to, link string) error {
	if now, err := os.Readlink(link); err == nil && now == to {
		return nil
	}
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return &wrap.Error{Status: wrap.StatusFailed, Text: policy.Plain(link) + " is there, and is no link of sbx's", Hint: "remove it, or put it elsewhere"}
	}
	part := filepath.Join(filepath.Dir(link), "."+filepath.Base(link)+"."+strconv.Itoa(os.Getpid()))
	if err := os.Symlink(to, part); err != nil {
		return err
	}
	if err := os.Rename(part, link); err != nil {
		_ = os.Remove(part)
		return err
	}
	return nil
}

// ownPath is the path of sbx that stays when it is upgraded: the one in PATH,
// if that leads here, else the file that runs.
func ownPath() (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "sbx"); filepath.IsAbs(path) && ourselves(path) {
			return path, nil
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(exe)
}
