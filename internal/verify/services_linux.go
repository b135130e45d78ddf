package verify

import (
	"os"
	"strconv"
	"strings"
)

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
	add("containerd", "/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock")
	add("machines", "/run/libvirt/libvirt-sock", "/var/lib/lxd/unix.socket", "/var/lib/incus/unix.socket", "/run/snapd.socket", "/nix/var/nix/daemon-socket/socket")
	add("ssh-agent", os.Getenv("SSH_AUTH_SOCK"), run+"/ssh-agent.socket", run+"/keyring/ssh", run+"/gcr/ssh")
	gnupg := []string{os.Getenv("GNUPGHOME"), run + "/gnupg"}
	for _, home := range homes {
		gnupg = append(gnupg, home+"/.gnupg")
		add("docker", home+"/.docker/run/docker.sock", home+"/.colima/default/docker.sock", home+"/.rd/docker.sock", home+"/.orbstack/run/docker.sock")
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
	add("systemd", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/io.systemd.ManagedOOM", run+"/systemd/private", run+"/systemd/notify")
	tmux, _, _ := strings.Cut(os.Getenv("TMUX"), ",")
	add("tmux", tmux)
	add("editor", os.Getenv("VSCODE_IPC_HOOK_CLI"), os.Getenv("NVIM"), os.Getenv("VSCODE_GIT_IPC_HANDLE"))
	return out
}
