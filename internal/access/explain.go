// SPDX-License-Identifier: Apache-2.0

package access

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// texts are what an engine has to say of the same thing. A %s is the path of the
// rule.
type texts struct {
	present [places]string // of what is there and not shown
	within  string         // of what lies in a hidden directory
	cache   string         // what becomes of the host's cache where there is a private one
	absent  [places]string
}

func mountTexts() *texts {
	return &texts{
		present: [places]string{
			unopened: "no rule opens it: it exists only to hold what is opened in it",
			private:  "a private directory; what is written there is gone afterwards",
			hidden:   "hidden: an empty file is in its place",
		},
		within: "lies in a hidden directory: it exists only to hold what is opened in it",
		cache:  "neither seen nor changed",
		absent: [places]string{
			unopened: "no rule opens it, so it does not exist inside",
			hidden:   "lies in a directory that is hidden",
			proc:     "not in the sandbox's own /proc, where processes have other numbers",
			devices:  "not in the sandbox's own /dev",
			sbx:      "does not exist",
		},
	}
}

func ruleTexts() *texts {
	const none = "there is no private directory in place of %s without namespaces"
	return inPlaceTexts("cannot be opened", "it exists, but cannot be opened: "+none,
		"does not exist, and cannot be created: "+none)
}

func seatbeltTexts() *texts {
	return inPlaceTexts(refused,
		"closed: it exists, but "+refused+", since macOS has no private directory to put in place of %s",
		"does not exist, and cannot be created where everything is closed (%s)")
}

// inPlaceTexts are those of an engine under which every path keeps its place.
func inPlaceTexts(closed, asPrivate, inPrivate string) *texts {
	exists := "it exists, but " + closed
	return &texts{
		present: [places]string{
			unopened: exists + ": no rule opens it", private: asPrivate, hidden: "hidden: " + exists,
		},
		within: exists + ": it lies in a hidden directory",
		cache:  "neither opened nor changed",
		absent: [places]string{
			unopened: "does not exist, and cannot be created where no rule opens anything",
			private:  inPrivate,
			hidden:   "does not exist, and cannot be created in a directory that is hidden",
			proc:     "does not exist",
			devices:  "does not exist",
		},
	}
}

const pinnedText = "; it cannot be moved or removed, since something in it is protected or hidden"

// refused is how macOS puts it.
const refused = "refused (Operation not permitted)"

// explain is one sentence on what is at a place, and on what can be.
func (c *Checker) explain(v *Verdict, p place) string {
	if at := c.stuck(v); at != "" {
		return "the link " + text.Plain(at) + " on the way lies in a place that is closed, and following it is " + refused
	}
	link := ""
	if v.Kind == host.Absent && v.Seen {
		link = "a link to " + text.Plain(v.To) + ": "
	}
	if dir, kind := c.nearest(v.To); v.Kind == host.Absent && kind != host.Dir {
		return link + "nothing can be there: " + text.Plain(dir) + " is not a directory"
	}
	if text := c.engine.explain(v, p); text != "" {
		return link + text
	}
	switch {
	case v.Kind == host.Absent:
		return link + c.explainAbsent(v, p)
	case p == shown:
		return c.explainShown(v)
	case p == hidden && v.To != v.Rule.Path:
		return c.texts.within
	}
	return ofRule(c.texts.present[p], v.Rule)
}

func ofRule(answer string, r *view.Rule) string {
	if r == nil {
		return answer
	}
	return strings.ReplaceAll(answer, "%s", text.Plain(r.Path))
}

// explainShown is about files of the host's that a rule opens.
func (c *Checker) explainShown(v *Verdict) string {
	stays := c.engine.immovable(v)
	switch {
	case v.Kind == host.Socket:
		return c.notPermitted(v, "connect to it")
	case v.Kind == host.Dir && !v.Read:
		return c.notPermitted(v, "list it")
	case !v.Read:
		return c.notPermitted(v, "read it")
	case v.Rule.Source == view.SourceCache:
		return "the project's private cache: it is kept for the next run, and the host's own is " + c.texts.cache + stays
	case v.Write:
		return "the host's own, and it can be changed" + stays
	case v.Rule.Access == policy.Write:
		return c.notPermitted(v, "write it") + stays
	case v.Rule.Access == policy.Protect:
		return "protected: read-only in a tree that can be written"
	}
	return "the host's own, read-only"
}

// notPermitted says that it is the permissions of the host that decide.
func (c *Checker) notPermitted(v *Verdict, what string) string {
	mode := ""
	if info, err := c.FS.Lstat(v.To); err == nil {
		mode = " (mode " + strconv.FormatUint(uint64(info.Mode), 8) + ")"
	}
	if c.Host.UID == 0 && !c.Seatbelt {
		return "root without privileges, as in the sandbox, may not " + what + mode
	}
	return "you may not " + what + mode + ", and neither may the command"
}

// explainAbsent says why there is nothing at a place, and whether there can be.
func (c *Checker) explainAbsent(v *Verdict, p place) string {
	switch {
	case v.Write:
		return "does not exist; could be created" + c.nextRun(v.To)
	case p != shown:
		return ofRule(c.texts.absent[p], v.Rule)
	case v.Rule.Access == policy.Write:
		return "does not exist, and you may not create it"
	}
	return "does not exist, and cannot be created where everything is read-only"
}

// hostHas says what the host has at a path that does not exist inside. Inside a
// sandbox that is not known.
func (c *Checker) hostHas(path string) string {
	if c.Beyond == nil {
		return ""
	}
	h, ok := c.Beyond.Outside(path)
	if !ok {
		return ""
	}
	to, err := c.Beyond.Res.Resolve(h)
	switch {
	case err != nil:
		return ""
	case to.Info.Kind == host.Absent:
		return " (nor does the host have it)"
	case c.Beyond.Refused[h] != "":
		return " (" + c.Beyond.Refused[h] + ")"
	case to.Path != h:
		return " (the host has it, at " + text.Plain(to.Path) + ")"
	}
	return " (the host has it)"
}

// nextRun says which rule is about a name once there is a file.
func (c *Checker) nextRun(path string) string {
	if c.Later == nil {
		return ""
	}
	host, _ := c.Beyond.Outside(path)
	r, ok := c.Later.Decide(host)
	if !ok || r.Access != policy.Protect && r.Access != policy.Block || !r.Pattern && r.Path != host {
		return ""
	}
	return ", and the next run would " + r.Access.String() + " it (" + r.Source + ")"
}
