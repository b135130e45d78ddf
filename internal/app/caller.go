// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/shims"
)

// Caller is the machine and the user that sbx runs for, before any file is read.
type Caller struct {
	Inv      Invocation
	Host     *host.Host
	Vars     policy.Vars // what paths may name
	Boundary string      // the outermost work tree around the working directory, where the search for project files ends
	nowhere  string      // why the working directory of a tool grants nothing; "" where it does
	named    []string    // directories with links to sbx that only PATH leads to
}

// Here is the caller in a directory; "" is the working directory.
func Here(dir string) (*Caller, error) {
	c, err := newCaller(ForRun(Flags{}, nil), dir)
	if err != nil {
		return nil, err
	}
	c.Boundary = c.outermost()
	return c, nil
}

// detect is the caller of a run, whose directories have to be plain.
func detect(inv Invocation) (*Caller, error) {
	c, err := newCaller(inv, "")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		if dir := os.Getenv(name); strings.HasPrefix(dir, "/") && strings.Contains(dir+"/", "/../") {
			return nil, Failed(name+" is "+strconv.Quote(dir)+", which is not a plain absolute path",
				"secrets are hidden by where it is: write it without ..")
		}
	}
	return c, nil
}

func newCaller(inv Invocation, dir string) (*Caller, error) {
	h, err := host.Detect()
	if err != nil {
		return nil, err
	}
	if inv.Flags.Engine == host.EngineSeatbelt && runtime.GOOS != "darwin" {
		h = host.AsMac(h)
	}
	if dir != "" {
		h.CWD = dir
	}
	h.Client, h.Store, h.Tmp = inv.Client, session.Store(h.UID), inv.tmp()
	c := &Caller{Inv: inv, Host: h, Vars: variables(h)}
	if inv.Client {
		c.distrust()
	}
	h.Own, h.Config = c.Vars.Own(), c.dir("$XDG_CONFIG_HOME/sbx")
	c.links()
	p := h.Project(h.CWD)
	c.Vars.Root, c.Vars.Project, c.Vars.Dirs, c.Vars.Members = p.Root, p.Whole, p.Dirs, p.Members
	return c, nil
}

// variables are what paths may name.
func variables(h *host.Host) policy.Vars {
	env := func(name string) string {
		dir := os.Getenv(name)
		if !strings.HasPrefix(dir, "/") || strings.Contains(dir+"/", "/../") {
			return ""
		}
		return filepath.Clean(dir)
	}
	v := policy.Vars{
		CWD: h.CWD, TmpDir: env("TMPDIR"), Config: env("XDG_CONFIG_HOME"), Cache: env("XDG_CACHE_HOME"),
		Data: env("XDG_DATA_HOME"), State: env("XDG_STATE_HOME"), Run: env("XDG_RUNTIME_DIR"),
	}
	if len(h.Homes) > 0 {
		v.Home = h.Homes[0]
	}
	if len(h.Homes) > 1 {
		v.Home2 = h.Homes[1]
	}
	return v
}

// distrust looks for the user's own directories where no variable can have
// moved them: the variables are the client's, and may be the project's. What they
// name is hidden and protected as well, and grants nothing.
func (c *Caller) distrust() {
	said, h := c.Vars, c.Host
	own := c.Inv.believed(h, said)
	if !slices.Contains(h.Homes, own.Home) {
		h.Homes = append(h.Homes, own.Home)
	}
	if run := "/run/user/" + strconv.Itoa(h.UID); said.Run == run {
		own.Run = run
	}
	dirs := func(v *policy.Vars) [8]string {
		return [...]string{v.Home, v.Home2, v.TmpDir, v.Config, v.Cache, v.Data, v.State, v.Run}
	}
	if dirs(&own) != dirs(&said) {
		own.Also = &said
	}
	c.Vars = own
}

// dir is a directory that is named by a variable, "" when that has no value.
func (c *Caller) dir(text string) string {
	dir, ok, err := c.Vars.Expand(text)
	if !ok || err != nil {
		return ""
	}
	return dir
}

// CacheDir is where sbx keeps what it can find out again, "" without a home.
func (c *Caller) CacheDir() string { return c.dir("$XDG_CACHE_HOME/sbx") }

// outermost is the outermost work tree that holds the working directory.
func (c *Caller) outermost() string {
	if c.Vars.Root == "" {
		return ""
	}
	return host.Outermost(c.Host.FS, c.Vars.Root, c.Host.UID, c.Host.Homes)
}

// Packaged are where a package puts its directory of shells.
var Packaged = []string{"/usr/lib/sbx/shells", "/usr/local/lib/sbx/shells"}

// links tells the host where links to sbx are. Packages have theirs, too, and
// PATH may name some that no other variable of this run leads to.
func (c *Caller) links() {
	h := c.Host
	h.Links, h.Shims = c.Vars.Links(), slices.Clone(Packaged)
	path := h.Path()
	if c.Inv.session != nil {
		path += ":" + c.Inv.path
	}
	for _, dir := range linksIn(path) {
		if !slices.Contains(h.Links, dir) {
			c.named = append(c.named, dir)
		}
	}
	for _, dir := range slices.Concat(h.Links, c.named) {
		h.Shims = append(h.Shims, dir+"/shims", dir+"/shells")
	}
	if h.Client { // whose PATH is not believed: nothing is made where it leads
		h.Named = c.named
	} else {
		h.Links = append(h.Links, c.named...)
	}
}

// linksIn are the directories of a search path that sbx keeps its links in, by
// their names alone: what holds .../sbx/shims or .../sbx/shells.
func linksIn(path string) []string {
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") || !strings.Contains(dir, "sbx/") {
			continue
		}
		dir = filepath.Clean(dir)
		above, ok := strings.CutSuffix(dir, "/shims")
		if !ok {
			above, ok = strings.CutSuffix(dir, "/shells")
		}
		if ok && strings.HasSuffix(above, "/sbx") && !slices.Contains(out, above) {
			out = append(out, above)
		}
	}
	return out
}

// ShimsDir is where the user's shims are.
func (c *Caller) ShimsDir() (shims.Dir, error) {
	dir := c.dir("$XDG_DATA_HOME/sbx/shims")
	if dir == "" {
		return "", Failed("there is no home directory to keep shims in", "set HOME or XDG_DATA_HOME")
	}
	return shims.Dir(dir), nil
}

// Kept is the error for something that a user asked to have kept in a directory,
// where it cannot be.
func (c *Caller) Kept(dir, what, hint string) error {
	if why := c.Host.CheckOwnDir(dir); why != nil {
		return Failed(what+": "+why.Error(), hint)
	}
	return nil
}

// places are where config files may be.
func (c *Caller) places(cwd string) config.Files {
	f := config.Files{
		System: []string{"/etc/sbx/config.toml", "/etc/sbx/config.hcl"},
		CWD:    cwd, Root: c.Boundary, Explicit: c.Inv.Flags.Config,
	}
	f.User = c.UserFiles()
	return f
}

// UserFiles are the names of the user's config file; none without a home directory.
func (c *Caller) UserFiles() []string {
	if dir := c.Host.Config; dir != "" {
		return []string{dir + "/config.toml", dir + "/config.hcl"}
	}
	return nil
}

// Unread are files that look like config files here and are none.
func (c *Caller) Unread() []config.Unread { return c.places(c.Vars.CWD).Unread() }

// Files reads the config files, and says why files that once were trusted are not.
// Where the home directory is another user's and closed, none of the user's can be
// there.
func (c *Caller) Files() (files []config.File, doubts []string, err error) {
	if err := c.misled(); err != nil {
		return nil, nil, err
	}
	log := logger(c.Inv.Flags.LogLevel)
	cwd := c.Vars.CWD
	if c.nowhere != "" {
		cwd = c.Host.CWD // a project file there still tightens
	}
	places := c.places(cwd)
	places.Trusts = func(path string, data []byte) bool {
		is, doubt := c.trusts(path, data)
		if doubt != "" {
			doubts = append(doubts, doubt)
		}
		return is
	}
	log.Debug("looked for config", "system", places.System, "user", places.User, "explicit", places.Explicit, "cwd",
		places.CWD, "root", places.Root)
	files, err = config.Find(places)
	var bad *config.FileError
	if errors.As(err, &bad) && slices.Contains(places.User, bad.Path) && c.Host.Foreign(bad.Path) {
		doubts = append(doubts, "no config file of yours is read: "+text.Plain(c.Vars.Home)+" belongs to another user and may not be searched")
		places.User = nil
		files, err = config.Find(places)
	}
	for _, f := range files {
		log.Info("read config", "file", f.Path, "layer", f.Layer, "bytes", len(f.Data), "trusted", f.Trusted)
	}
	return files, doubts, err
}

// TrustStore is where it is kept which project files the user agreed to.
func (c *Caller) TrustStore() config.TrustStore {
	return config.TrustStore{Dir: c.dir("$XDG_STATE_HOME/sbx/trust")}
}

// trusts reports whether the user has agreed to a project file as it is, and
// why not where that could surprise.
func (c *Caller) trusts(path string, data []byte) (is bool, doubt string) {
	state, _, err := c.TrustStore().Check(path, data)
	switch {
	case err != nil:
		doubt = text.Plain(path) + ": not trusted, since its record is invalid: " + err.Error()
	case state == config.Changed:
		doubt = text.Plain(path) + ": changed since it was trusted, so it may only tighten; to see what changed and trust it again: " +
			"sbx trust " + text.ShellWord(path)
	}
	return state == config.Trusted, doubt
}

// OwnDirs are where sbx keeps its configuration and state.
func (c *Caller) OwnDirs() []string {
	dirs := []string{"/etc/sbx"}
	for _, name := range []string{"$XDG_CONFIG_HOME/sbx", "$XDG_STATE_HOME/sbx", "$XDG_CACHE_HOME/sbx"} {
		if dir := c.dir(name); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
