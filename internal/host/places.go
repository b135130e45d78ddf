// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// SharedDirs are never writable roots: everyone's files are in them, or the
// system's. What lies below /home, /opt, /srv, /mnt, /var and /tmp is fine.
var SharedDirs = []string{
	"/", "/home", "/opt", "/srv", "/mnt", "/media", "/var", "/tmp", "/var/tmp", "/var/lib", "/var/cache", "/Users",
	"/Applications", "/Volumes", "/opt/homebrew", "/private", "/private/tmp", "/private/var", "/private/var/tmp",
	"/private/var/folders",
}

// SystemTrees are never writable at any depth: the host runs what is in them.
var SystemTrees = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/boot", "/dev", "/proc", "/sys", "/run",
	"/nix", "/gnu/store", "/var/spool/cron", "/var/spool/at", "/System", "/Library", "/private/etc", "/private/var/db",
	"/private/var/run",
}

// Replaceable reports whether a canonical path lies where someone whose work
// runs in sandboxes may have put something else in its place a moment ago.
func Replaceable(path string) bool {
	return policy.WithinAny(path, systemExceptions...) || !policy.WithinAny(path, SystemTrees...)
}

// exceptions of systemTrees: places where people do keep sources.
var systemExceptions = []string{"/usr/src", "/usr/local/src"}

// Writable returns an error that says why a canonical path cannot be a
// writable tree.
func (h *Host) Writable(path string) error {
	if slices.Contains(SharedDirs, path) {
		return &PlaceError{path: path, why: "is shared with everything else on this machine"}
	}
	for _, home := range h.Homes {
		if policy.Within(home, path) {
			return &PlaceError{path: path, why: "is or holds the home directory"}
		}
	}
	if h.Config != "" && (policy.Within(h.Config, path) || policy.Within(path, h.Config)) {
		return &PlaceError{path: path, why: "is or holds the place of sbx's own configuration (" + text.Plain(h.Config) + ")"}
	}
	if h.Store != "" && path != h.Tmp && (policy.Within(h.Store, path) || policy.Within(path, h.Store)) {
		return &PlaceError{path: path, why: "is or holds the place of sbx's sessions (" + text.Plain(h.Store) + ")"}
	}
	if policy.WithinAny(path, systemExceptions...) && !slices.Contains(systemExceptions, path) {
		return nil
	}
	for _, d := range SystemTrees {
		if policy.Within(path, d) {
			return &PlaceError{path: path, why: "belongs to the system (" + d + ")"}
		}
	}
	return nil
}

// Shared reports whether a link lies where some built-in profile lets commands
// write, whatever the profile of this run says: another run may have left it.
func (h *Host) Shared(l Hop) bool {
	return slices.ContainsFunc(h.Homes, func(home string) bool {
		return policy.WithinAny(l.Path, home+"/.cache", home+"/.local")
	})
}

// Grantable is Writable for a path that no person named: what is in some directories
// is started at login, by the desktop, by shells or editors.
func (h *Host) Grantable(path string) error {
	if err := h.Writable(path); err != nil {
		return err
	}
	starts := func(top, names string) bool {
		rest, ok := strings.CutPrefix(path, top+"/")
		return ok && slices.ContainsFunc(strings.Fields(names), func(name string) bool {
			return policy.Within(rest, name) || policy.Within(name, rest)
		})
	}
	found := h.Config != "" && starts(policy.Dir(h.Config), startConfig)
	for _, home := range h.Homes {
		found = found || starts(home, startHome) || starts(home+"/.config", startConfig)
	}
	if found {
		return &PlaceError{path: path, why: "is, holds or lies in a place where programs look for what they start",
			Named: true}
	}
	return nil
}

// startConfig are such places below ~/.config, startHome those below a home directory.
const (
	startConfig = `autostart autostart-scripts plasma-workspace systemd environment.d upstart
		user-tmpfiles.d X11 fish zsh bash nushell powershell git direnv nvim vim emacs doom helix kak micro Code
		VSCodium Cursor zed tmux kitty wezterm ghostty alacritty i3 sway hypr niri river bspwm sxhkd awesome qtile
		openbox labwc polybar waybar rofi ranger lf yazi mpv`
	startHome = `.local/share/applications .local/share/systemd .local/share/dbus-1
		.local/share/kservices5 .local/share/kio .local/share/kwin .local/share/plasma .local/share/plasmashell
		.local/share/gnome-shell .local/share/cinnamon .local/share/nautilus .local/share/nautilus-python
		.local/share/nemo .local/share/file-manager .local/share/bash-completion .local/share/fish
		.local/share/nvim .config/autostart .bashrc.d .zsh .zshrc.d .oh-my-zsh .emacs.d .doom.d .vim .tmux .xmonad
		.fvwm .vscode .vscode-server .claude` // ~/Library is hidden as a whole
)

// PlaceError is a path that is not made writable, or not without being named.
type PlaceError struct {
	path, why string
	Named     bool
}

func (e *PlaceError) Error() string {
	if e.Named {
		return text.Plain(e.path) + " " + e.why + ", and is made writable by name only"
	}
	return fmt.Sprintf("%s %s and is never made writable", text.Plain(e.path), e.why)
}

// TrustedLink reports whether a link was made by the system rather than by someone
// whose work runs in sandboxes: root owns it and the directory it lies in, and when
// the caller is root, too, it lies in no home directory and in no tree that can be
// made writable.
func (h *Host) TrustedLink(l Hop) bool {
	return l.UID == 0 && l.Dir == 0 && (h.UID != 0 ||
		!policy.WithinAny(l.Path, h.Homes...) && !h.someTree(l, func(string) bool { return true }))
}

// OwnLink reports whether a link was made outside of any sandbox: it is the caller's
// or root's, and lies where no tree can be made writable, as in the home directory
// itself. What lies in /tmp need not be the caller's idea.
func (h *Host) OwnLink(l Hop) bool {
	return h.ours(l) && !h.someTree(l, func(string) bool { return true })
}

func (h *Host) ours(l Hop) bool {
	return (l.UID == 0 || l.UID == h.UID) && h.ownDir(policy.Dir(l.Path))
}

// someTree reports whether a link lies in a tree that can be made writable and for
// which is says yes.
func (h *Host) someTree(l Hop, is func(dir string) bool) bool {
	for dir := policy.Dir(l.Path); dir != "/"; dir = policy.Dir(dir) {
		if h.Writable(dir) == nil && is(dir) {
			return true
		}
	}
	return false
}

// Strays reports whether a link on the way to the working directory leads out of
// where a command that could have made it can write anyway.
func (h *Host) Strays(l Hop) bool {
	return !h.TrustedLink(l) && !h.OwnLink(l) && !policy.Within(h.CWD, h.Project(policy.Dir(l.Path)).Whole)
}

// Suspect reports whether there is a sign that a link which strays is not the
// caller's own: it came with a project, or lies where another user may write, or
// where commands could, by what is known of earlier runs.
func (h *Host) Suspect(l Hop, ran func(dir string) bool) bool {
	dir := policy.Dir(l.Path)
	return !h.ours(l) || h.Project(dir).Root != dir || h.MadeBy(dir, "") == ".git" || h.someTree(l, ran)
}

// CanCreateIn reports whether the caller, and so the command, can make something
// in a directory.
func (h *Host) CanCreateIn(dir string) bool {
	info, err := h.FS.Lstat(dir)
	return err == nil && info.Kind == Dir && h.FS.Access(dir, 'w')
}

// CheckOwnDir says why sbx can have no directory of its own at a path, nil when it is
// there or can be made. The directory above it is one of the user's that the
// system or the user names ($XDG_CACHE_HOME, ~/.local/state). That is made
// inside of a home directory only, and a home directory never is: what is not
// there has no user, and "/" is no one's home.
func (h *Host) CheckOwnDir(dir string) error {
	if dir == "" {
		return errors.New("there is no home directory")
	}
	at, missing, res := dir, "", NewResolver(h.FS)
	to, err := res.Resolve(at)
	for ; err == nil && to.Info.Kind == Absent && at != "/"; to, err = res.Resolve(at) {
		at, missing = policy.Dir(at), at
	}
	var link Info
	if err == nil && missing != "" {
		link, err = h.FS.Lstat(Join(to.Path, Base(missing)))
	}
	var denied DeniedError
	switch {
	case errors.As(err, &denied):
		return errors.New(text.Plain(denied.Dir) + " may not be searched")
	case err == ErrDenied:
		return errors.New(text.Plain(at) + " may not be searched")
	case err != nil:
		return err
	case link.Kind == Link:
		return errors.New(text.Plain(missing) + " is a link that leads nowhere")
	case to.Info.Kind != Dir:
		return errors.New(text.Plain(at) + " is not a directory")
	case policy.WithinAny(to.Path, "/proc", "/sys"):
		return errors.New(text.Plain(at) + " keeps no files")
	case missing != "" && missing != dir && !h.inHome(at, dir):
		return errors.New(text.Plain(missing) + " does not exist")
	case to.Info.UID != h.UID && (at == dir || h.UID == 0 && to.Info.Mode&0o1000 == 0):
		return errors.New(text.Plain(at) + " belongs to another user")
	case !h.FS.Access(to.Path, 'w'):
		return errors.New(text.Plain(at) + " cannot be written")
	}
	return nil
}

// inHome reports whether dir is meant for a home directory that exists, by the
// directory at which the way there ends.
func (h *Host) inHome(at, dir string) bool {
	holds := func(home string) bool { return home != "/" && policy.Within(dir, home) }
	return slices.ContainsFunc(h.Homes, holds) &&
		!slices.ContainsFunc(h.Homes, func(home string) bool { return holds(home) && !policy.Within(at, home) })
}

// Foreign reports whether a path cannot be reached since the home directory, or
// one above it, is another user's and may not be searched. Nothing that is
// there is the user's.
func (h *Host) Foreign(path string) bool {
	var denied DeniedError
	_, err := NewResolver(h.FS).Resolve(path)
	holds := func(home string) bool { return policy.Within(home, denied.Dir) && policy.Within(path, home) }
	return errors.As(err, &denied) && denied.UID != h.UID && slices.ContainsFunc(h.Homes, holds)
}

// RunsIn is where the directories of runs are in sbx's own cache, "" without
// one. Rules follow no links, and the home or its cache may be one.
func RunsIn(cacheDir string) string {
	if cacheDir == "" {
		return ""
	}
	above, err := NewResolver(OS{}).Resolve(policy.Dir(cacheDir))
	if err != nil {
		return ""
	}
	return Join(Join(above.Path, Base(cacheDir)), "runs")
}
