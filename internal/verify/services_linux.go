// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// server notes a socket that listens outside.
func (c *collector) server(l *listener) {
	s := l.server
	s.Shared = s.Act != actConnect || s.abstract() && !c.target.Walls
	if s.Act == actConnect && !s.abstract() && !c.target.Walls {
		if a := c.mounts.at(canonical(string(s.Path))); a.shows() {
			s.Opened = a.Source
		}
	}
	c.target.Servers = append(c.target.Servers, s)
}

// sockets notes the services of the host, and whoever's sockets lie in directories
// that are shown: as far as the kernel names them, and as far as a look goes that
// is longer than a run could take.
func (c *collector) sockets() {
	for _, k := range services(c.Host.Homes) {
		if k.Path[0] == 0 {
			if listening(k.Path) {
				c.socket(k)
			}
			continue
		}
		if k.Path = canonical(k.Path); lkind(k.Path) == kindSocket {
			k.Opened = c.mounts.at(k.Path).named(k.Path)
			c.socket(k)
		}
	}
	const names = 20000
	found := slices.Clone(c.Host.Sockets)
	for _, dir := range append([]string{"/opt", "/srv", "/usr/local", "/etc", "/var/lib"}, c.Host.Homes...) {
		if dir = canonical(dir); c.mounts.at(dir).shows() {
			found = append(found, host.Sockets(dir, names)...)
		}
	}
	for _, path := range found {
		path = canonical(path)
		a := c.mounts.at(path)
		masked := a.Access == policy.Block && a.Path == path && a.Source == view.SourceSocket
		if !a.shows() && !masked || lkind(path) != kindSocket {
			continue
		}
		k := socket{Name: "service", Path: path, Opened: a.named(path)}
		if k.Opened == "" && (policy.Within(path, c.Host.CWD) || policy.Within(path, c.Root)) {
			k.Opened = a.Source + ", in the project"
		}
		c.socket(k)
	}
}

func (c *collector) socket(k socket) {
	if slices.ContainsFunc(c.target.Sockets, func(o socket) bool { return o.Path == k.Path }) {
		return
	}
	if k.Path[0] == 0 && c.target.sharesAbstract() {
		k.Opened = "the shared network"
	}
	c.target.Sockets = append(c.target.Sockets, k)
}

// listening reports whether an abstract name is in use.
func listening(path string) bool {
	text, _ := procfs.Read("/proc/net/unix")
	for line := range strings.Lines(text) {
		if strings.HasSuffix(strings.TrimSpace(line), " @"+path[1:]) {
			return true
		}
	}
	return false
}

// services are the sockets that hand out what a sandbox takes away, at their
// usual places and where the environment says. They need not exist.
func services(homes []string) []socket {
	var out []socket
	add := func(name string, paths ...string) {
		for _, p := range paths {
			if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "\x00") {
				out = append(out, socket{Name: name, Path: p})
			}
		}
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	if run == "" {
		run = "/run/user/" + strconv.Itoa(os.Geteuid())
	}
	unix := func(name string) string { return strings.TrimPrefix(os.Getenv(name), "unix://") }
	add("docker", "/run/docker.sock", "/var/run/docker.sock", run+"/docker.sock", unix("DOCKER_HOST"))
	add("podman", "/run/podman/podman.sock", run+"/podman/podman.sock", unix("CONTAINER_HOST"))
	add("containerd", "/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock",
		"/run/buildkit/buildkitd.sock")
	add("machines", "/run/libvirt/libvirt-sock", "/var/lib/lxd/unix.socket", "/var/lib/incus/unix.socket",
		"/run/snapd.socket", "/nix/var/nix/daemon-socket/socket")
	add("ssh-agent", os.Getenv("SSH_AUTH_SOCK"), run+"/ssh-agent.socket", run+"/keyring/ssh", run+"/gcr/ssh")
	gnupg := []string{os.Getenv("GNUPGHOME"), run + "/gnupg"}
	for _, home := range homes {
		gnupg = append(gnupg, home+"/.gnupg")
		add("docker", home+"/.docker/run/docker.sock", home+"/.colima/default/docker.sock", home+"/.rd/docker.sock",
			home+"/.orbstack/run/docker.sock")
	}
	for _, dir := range gnupg {
		if dir != "" {
			add("gpg-agent", dir+"/S.gpg-agent", dir+"/S.gpg-agent.extra", dir+"/S.gpg-agent.ssh", dir+"/S.keyboxd")
		}
	}
	add("D-Bus", "/run/dbus/system_bus_socket", run+"/bus")
	for _, addr := range strings.Split(os.Getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		for _, kv := range strings.Split(strings.TrimPrefix(addr, "unix:"), ",") {
			switch key, value, _ := strings.Cut(kv, "="); key {
			case "path":
				add("D-Bus", value)
			case "abstract":
				add("D-Bus", "\x00"+value)
			}
		}
	}
	display := "0"
	if _, rest, ok := strings.Cut(os.Getenv("DISPLAY"), ":"); ok {
		if n, _, _ := strings.Cut(rest, "."); n != "" && !strings.Contains(n, "/") {
			display = n
		}
	}
	add("X11", "/tmp/.X11-unix/X"+display, "\x00/tmp/.X11-unix/X"+display)
	wayland := os.Getenv("WAYLAND_DISPLAY")
	if wayland == "" {
		wayland = "wayland-0"
	}
	if !strings.HasPrefix(wayland, "/") {
		wayland = run + "/" + wayland
	}
	add("Wayland", wayland)
	add("sound", run+"/pipewire-0", run+"/pulse/native")
	add("systemd", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/io.systemd.ManagedOOM",
		run+"/systemd/private", run+"/systemd/notify")
	tmux, _, _ := strings.Cut(os.Getenv("TMUX"), ",")
	add("tmux", tmux)
	add("editor", os.Getenv("VSCODE_IPC_HOOK_CLI"), os.Getenv("NVIM"), os.Getenv("VSCODE_GIT_IPC_HANDLE"))
	return out
}
