// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// variable is what becomes of an environment variable; never its value.
type variable struct {
	known  bool   // the caller has it, or sbx sets it
	seen   bool   // the command has it
	action string // pass, drop, set; unset when no one has it
	source string // of the rule
	note   string
}

// planned is what a plan does with a variable, or would do.
func planned(p *engine.Plan, name string) variable {
	for _, c := range p.Report.Env {
		if c.Name == name {
			return variable{known: true, seen: c.Kept, action: c.Action(), source: c.Source}
		}
	}
	v := p.Report.Policy.Env(name)
	would := "would be dropped"
	if v.Pass {
		would = "would be passed"
	}
	return variable{action: "unset", source: v.Source, note: "it is not set; if it were, it " + would}
}

// given is what the manifest and the environment say inside. What the
// command itself has changed since cannot be told from what it was given.
func given(m *app.Manifest, environ []string, name string) variable {
	v := variable{action: "unset", note: "it is not set here"}
	v.seen = slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	v.known = v.seen
	if i := slices.IndexFunc(m.Env, func(e app.ManifestEnv) bool { return e.Name == name }); i >= 0 {
		v.known, v.action, v.source, v.note = true, m.Env[i].Action, m.Env[i].Source, ""
		switch {
		case v.seen && v.action == "drop":
			v.note = "it was dropped, and has been set inside since"
		case !v.seen && v.action != "drop":
			v.note = "it was given, and has been unset inside since"
		}
		return v
	}
	switch {
	case v.seen && m.Environment == "list":
		v.action, v.source, v.note = "set", "", "it has been set inside"
	case v.seen:
		v.action, v.source, v.note = "pass", policy.Inherited, ""
	case m.Environment == "list":
		v.source = policy.Unlisted
	}
	return v
}

func (in *insight) answerVariable(name string) (*answerJSON, error) {
	if strings.ContainsAny(name, "=\x00") {
		word, _, _ := strings.Cut(name, "=")
		return nil, app.Failed(text.Plain(word)+"=…: a name of a variable holds no =", "ask for the name alone")
	}
	v := in.variable(name)
	a := &answerJSON{Word: name, Name: name, Seen: &v.seen, Rule: &ruleJSON{Access: v.action, Source: v.source},
		Why: v.note}
	if i := strings.LastIndex(v.source, " drops "); i >= 0 {
		a.Rule.Source, a.Rule.Setting = v.source[:i], "env_drop "+v.source[i+len(" drops "):]
	}
	if a.Why == "" {
		a.Why = whyVariable(name, v, a.Rule)
	}
	switch own := name == "SBX_PROFILE" || name == "SBX_TIER" || (in.walled || in.belted) && v.source == "sbx" &&
		(name == "SBX_MANIFEST" || name == "TMPDIR"); {
	case own:
		a.NoLever = "sbx sets it itself"
	case v.action == "drop" || v.action == "unset" && v.source != policy.Inherited && v.source != "":
		if policy.ValidName(name) {
			a.lever("see", "", "--env", name)
		} else {
			a.NoLever = "--env takes names of letters, digits and _"
		}
	case v.action == "pass":
		a.lever("drop", "env_drop = ["+strconv.Quote(name)+"] in a config file")
	}
	return a, nil
}

func whyVariable(name string, v variable, r *ruleJSON) string {
	switch v.action {
	case "set":
		if v.source == "sbx" {
			return "sbx sets it"
		}
		return "set by " + v.source
	case "drop":
		switch {
		case r.Setting != "":
			return "dropped by " + strings.TrimPrefix(r.Setting, "env_drop ") + " of " + r.Source
		case v.source == policy.Unlisted:
			return "dropped: only what a rule names is let through"
		}
		return "dropped: " + v.source
	}
	why := "passed by a rule of " + v.source
	if v.source == policy.Inherited {
		why = "passed: no rule drops it"
	}
	switch name {
	case "PATH":
		why += "; directories that are not inside are taken out of it"
	case "SHELL":
		why += "; it is /bin/sh when the shell is not inside"
	}
	return why
}
