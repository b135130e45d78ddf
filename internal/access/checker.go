// SPDX-License-Identifier: Apache-2.0

// Package access answers what a command may do with a path, and why: the rule
// that decides, and what would change the answer.
//
// A [Checker] answers from the files as the command finds them and the rules in
// force, outside of a sandbox from a plan and inside from the manifest. It
// predicts and enforces nothing: where it is wrong the engine still holds. Start
// with [Checker.Ask].
package access

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Checker answers what a command may do with a path, from the files as the
// command finds them and the rules in force. Outside a sandbox both are worked
// out from a plan (package engine); inside, the files are there to be looked at
// and the rules are in the manifest. The way from there to an answer is the same.
type Checker struct {
	FS    host.FS     // the files as the command finds them, by their names inside
	Rules []view.Rule // parents before children
	Host  *host.Host  // UID, homes and config directory; the rest is not looked at

	// Ruleset is what the kernel lets through, with Landlock; nil where mounts decide.
	Ruleset *landlock.Ruleset
	Kept    bool // what is protected counts as that, also where it is put back after the run

	// Seatbelt is set where sandbox-exec decides, by the rules; Network is what it was told.
	Seatbelt, Network bool

	Beyond *view.View // the host, when it can be looked at; nil inside
	Later  *policy.Policy
	Keep   []int // with sandbox-exec: descriptors that the command keeps

	engine engine
	texts  *texts
	res    *host.Resolver
}

// Verdict is what a command may do with a path, and why.
type Verdict struct {
	Path string    // absolute; "." and ".." are gone, links are kept
	To   string    // canonical; where Path leads when links are followed
	Kind host.Kind // of what the command finds at To

	Seen    bool // the name is there
	Read    bool // the content, of a directory the list of names; what stands for something hidden is no content
	Write   bool // it can be changed, or made when it does not exist
	Connect bool // of a socket

	Rule     *view.Rule // the rule that decides; nil when none does
	Why      string
	Remedies []Remedy
	Fixed    string // why no more is possible; "" if a remedy exists
}

// Remedy is how to get another answer.
type Remedy struct {
	To    string   // read, write, keep, hide
	Flags []string // of a run; nil when Text says it
	Text  string   // beside Flags a remark on them
}

// engine is what differs between the engines.
type engine interface {
	// place says what kind of place a path is in.
	place(path string, r *view.Rule) place
	// allow sets what may be done at a path, permissions included.
	allow(v *Verdict, p place)
	// creates reports whether names can be made in dir, an existing directory, down
	// to a path, permissions aside.
	creates(dir, path string) bool

	// explain is a sentence on what only this engine has, "" for what is usual.
	explain(v *Verdict, p place) string
	// immovable says, after a sentence on something the host has, that it stays.
	immovable(v *Verdict) string
	// remedy adds the remedies for what only this engine has; done ends the search.
	remedy(v *Verdict, p place, path string, exists bool) (done bool)
}

// start chooses the engine, at the first question.
func (c *Checker) start() {
	switch {
	case c.Seatbelt:
		e := &seatbelt{Checker: c}
		if c.Beyond == nil {
			e.denied = make(map[string]bool)
			c.FS = deniedFS{c.FS, e.denied}
		}
		c.engine, c.texts = e, seatbeltTexts()
	case c.Ruleset != nil:
		c.engine, c.texts = &rules{Checker: c}, ruleTexts()
	default:
		c.engine, c.texts = &mounts{c}, mountTexts()
	}
	c.res = host.NewResolver(c.FS)
}

// Ask answers for an absolute path by its name inside.
func (c *Checker) Ask(path string) Verdict {
	if c.engine == nil {
		c.start()
	}
	v := Verdict{Path: filepath.Clean(path)}
	v.To = v.Path
	plain, err := c.plain(path)
	if err == nil {
		v.Path = plain
		err = c.follow(&v)
	}
	if err != nil {
		v.To = v.Path
		v.Rule = c.ruleFor(v.To)
		v.Why, v.Fixed = c.unreachable(err)
		return v
	}
	v.Rule = c.ruleFor(v.To)
	if v.Kind != host.Dir && v.Kind != host.Absent && wantsDir(path) {
		v.Why = text.Plain(v.To) + " is not a directory"
		return v
	}
	p := c.engine.place(v.To, v.Rule)
	c.engine.allow(&v, p)
	v.Why = c.explain(&v, p)
	c.addRemedies(&v, p)
	return v
}

// plain takes "." and ".." out of a path, as the kernel does: what is before a
// ".." has to be there, and may be a link.
func (c *Checker) plain(path string) (string, error) {
	at := "/"
	if len(path) >= host.MaxPath {
		return "", errors.New("a path of more than " + strconv.Itoa(host.MaxPath-1) + " bytes, which the kernel does not take")
	}
	for elem := range strings.SplitSeq(path, "/") {
		switch {
		case elem == "" || elem == ".":
		case len(elem) > host.MaxName:
			return "", errors.New("a name of more than " + strconv.Itoa(host.MaxName) + " bytes, which no file has")
		case elem == "..":
			to, err := c.res.Resolve(at)
			if err != nil {
				return "", err
			}
			if to.Info.Kind != host.Dir {
				return "", errors.New(text.Plain(at) + " is not a directory inside, so nothing can be reached through it")
			}
			at = policy.Dir(to.Path)
		default:
			at = host.Join(at, elem)
		}
	}
	return at, nil
}

func wantsDir(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")
}

// follow finds where a path leads, and whether its name is there.
func (c *Checker) follow(v *Verdict) error {
	up, err := c.res.Resolve(policy.Dir(v.Path))
	if err != nil {
		return err
	}
	if up.Info.Kind == host.Dir {
		name, err := c.FS.Lstat(host.Join(up.Path, host.Base(v.Path)))
		v.Seen = v.Path == "/" || err == nil && name.Kind != host.Absent
	}
	to, err := c.res.Resolve(v.Path)
	if err == nil {
		v.To, v.Kind = to.Path, to.Info.Kind
	}
	return err
}

func (c *Checker) unreachable(err error) (why, fixed string) {
	var denied host.DeniedError
	switch {
	case errors.As(err, new(host.LoopError)):
		return "links lead in a circle", "it leads nowhere"
	case errors.As(err, &denied):
		return "you may not search " + text.Plain(denied.Dir) + ", so the command cannot look into it either", OwnUser
	}
	return host.OneLine(err.Error()), ""
}

const OwnUser = "a sandbox gives no more than your own user has"

// ruleFor is the rule that decides about a path, nil for none.
func (c *Checker) ruleFor(path string) *view.Rule {
	var best *view.Rule
	for i := range c.Rules {
		if r := &c.Rules[i]; !r.Pinned && c.contains(r.Path, path) {
			best = r // parents come before children
		}
	}
	if e, ok := c.engine.(*seatbelt); ok {
		return e.rule(path, best)
	}
	return best
}

// contains reports whether a path is at or below another. A Mac's volumes fold case.
func (c *Checker) contains(dir, path string) bool {
	if c.Seatbelt && len(path) >= len(dir) && strings.EqualFold(path[:len(dir)], dir) {
		path = dir + path[len(dir):]
	}
	return policy.Within(path, dir)
}

// Pinned reports whether a directory is held in place for what lies in it.
func (c *Checker) Pinned(path string) bool {
	return slices.ContainsFunc(c.Rules, func(r view.Rule) bool { return r.Pinned && r.Path == path })
}

// place is a kind of place, by whose files they are.
type place uint8

const (
	unopened place = iota // no rule opens it
	shown                 // the host's, as far as a rule opens it
	private               // the sandbox's own, gone after the run; or closed
	hidden                // what the host has is hidden
	proc                  // /proc
	devices               // /dev
	sbx                   // ManifestDir
	places
)

// ownPlace reports whether nothing of the host's is shown at a place.
func ownPlace(p place) bool { return p == private || p == hidden || p == unopened }

// linuxPlace is where a path lies that rule r decides about, on Linux.
func linuxPlace(path string, r *view.Rule) place {
	switch {
	case policy.Within(path, "/proc"):
		return proc
	case policy.Within(path, "/dev") && (r == nil || !policy.Within(r.Path, "/dev")):
		return devices
	}
	return ruledPlace(r)
}

// ruledPlace goes by the rule alone.
func ruledPlace(r *view.Rule) place {
	switch {
	case r == nil:
		return unopened
	case r.Access == policy.Private:
		return private
	case r.Access == policy.Block:
		return hidden
	}
	return shown
}

// canCreate reports whether something can be made at a path where nothing is, with
// the directories above it.
func (c *Checker) canCreate(path string) bool {
	dir, kind := c.nearest(path)
	return kind == host.Dir && c.engine.creates(dir, path) && c.FS.Access(dir, 'w') && c.FS.Access(dir, 'x')
}

// nearest is the nearest existing file at or above a canonical path.
func (c *Checker) nearest(path string) (string, host.Kind) {
	for {
		info, err := c.FS.Lstat(path)
		if path == "/" {
			return path, host.Dir
		}
		if err == nil && info.Kind != host.Absent {
			return path, info.Kind
		}
		path = policy.Dir(path)
	}
}
