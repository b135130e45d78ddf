// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// The modules of [config.Agents].
const (
	sshAgent = "ssh-agent"
	gpgAgent = "gpg-agent"
)

// agents opens the sockets of the agents whose modules are selected, by name or by a
// profile that extends one.
func (c *Context) agents(names []string) *policy.Profile {
	p := &policy.Profile{Name: "agents", Layer: policy.User}
	has := func(module string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			// Without files no profile extends one.
			return name == module || c.Settings.Where != nil && c.Settings.Profiles.Holds(name, module)
		})
	}
	open := func(module string, paths ...string) {
		res := host.NewResolver(c.Host.FS)
		for _, path := range paths {
			to, err := res.Resolve(path)
			if err == nil && to.Info.UID == c.Host.UID && (to.Info.Kind == host.Socket ||
				module == gpgAgent && to.Info.Kind == host.File) {
				p.Read.Items = append(p.Read.Items, policy.Item{Text: strings.ReplaceAll(path, "$", "$$"),
					Source: module})
			}
		}
	}
	// A client's variable could name any service of the user's, the session bus for one.
	if sock := os.Getenv("SSH_AUTH_SOCK"); has(sshAgent) && !c.Inv.Client && strings.HasPrefix(sock, "/") {
		if open(sshAgent, sock); len(p.Read.Items) > 0 {
			p.EnvPass.Items = append(p.EnvPass.Items, policy.Item{Text: "SSH_AUTH_SOCK", Source: sshAgent})
		}
	}
	if has(gpgAgent) {
		for _, name := range []string{"S.gpg-agent", "pubring.kbx", "pubring.gpg", "trustdb.gpg", "gpg.conf"} {
			open(gpgAgent, c.Vars.Home+"/.gnupg/"+name)
		}
		if c.Vars.Run != "" {
			open(gpgAgent, c.Vars.Run+"/gnupg/S.gpg-agent")
		}
	}
	return p
}

// agentLines say what the modules of agents opened.
func (c *Context) agentLines() (out []string) {
	for module, can := range map[string]string{
		sshAgent: "sign with every key of the agent, and add and remove keys there",
		gpgAgent: "sign and decrypt with every key of the agent, and export those without a passphrase",
	} {
		at := slices.IndexFunc(c.Policy.Rules, func(r policy.Rule) bool {
			return r.Source == module && strings.Contains(r.Path, "/") && !strings.Contains(r.Path, "/.gnupg/pub")
		})
		switch {
		case at >= 0:
			out = append(out, module+": the command can "+can+" ("+text.Plain(c.Policy.Rules[at].Path)+")")
		case slices.Contains(c.Policy.Profiles, module):
			out = append(out, module+": opens nothing: no socket of yours is where an agent's would be")
		}
	}
	slices.Sort(out)
	return out
}
