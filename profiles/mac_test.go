// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// mac is where one stands on a Mac.
var mac = stands["on macOS"]

// besides are the items that a profile has on macOS and nowhere else, by key.
func besides(t *testing.T, name string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, key := range policy.ListKeys() {
		for _, it := range For("darwin")[name][0].List(key).Items {
			if it.Source == name+" on macOS" {
				out[key] = append(out[key], it.Text)
			}
		}
	}
	return out
}

// files of the directory darwin, by the name of the profile.
func overlays(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("darwin/*.toml")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	out := map[string]string{}
	for _, f := range names {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".toml")] = string(text)
	}
	return out
}

// Only darwin has anything besides, and it has all that the others have, in
// their order.
func TestFor(t *testing.T) {
	for name, stack := range For("darwin") {
		for _, key := range policy.ListKeys() {
			common := slices.DeleteFunc(slices.Clone(stack[0].List(key).Items),
				func(it policy.Item) bool { return strings.HasSuffix(it.Source, " on macOS") })
			if !slices.Equal(common, For("linux")[name][0].List(key).Items) {
				t.Errorf("%s: %s differs by more than what macOS has besides", name, key)
			}
		}
		if !slices.Equal(stack[0].Scalars(), For("linux")[name][0].Scalars()) ||
			stack[0].Module != For("linux")[name][0].Module {
			t.Errorf("%s: %v", name, stack[0].Scalars())
		}
	}
	for _, goos := range []string{"freebsd", "", "plan9"} {
		for name, stack := range For(goos) {
			if stack[0] != For("linux")[name][0] {
				t.Errorf("%s: %s is not Linux's", goos, name)
			}
		}
	}
	for name := range overlays(t) {
		if len(besides(t, name)) == 0 {
			t.Errorf("darwin/%s.toml is in no profile", name)
		}
	}
}

// The kernel of macOS knows /tmp, /var, /etc and /home by other names only, and
// a rule about one of these would be about nothing.
func TestMacPathsAreCanonical(t *testing.T) {
	for name := range overlays(t) {
		for key, texts := range besides(t, name) {
			for _, text := range texts {
				first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "!"), "/"), "/")
				if !strings.HasPrefix(key, "env_") &&
					slices.Contains([]string{"tmp", "var", "etc", "home", "run", "proc", "sys", "lib"}, first) {
					t.Errorf("%s: %s: %s is a link or not there at all", name, key, text)
				}
			}
		}
	}
}

// Nothing is opened that holds secrets or another name of everything.
func TestMacOpensNarrowly(t *testing.T) {
	wide := strings.Fields(`/ /System /System/Volumes /System/Volumes/Data /System/Volumes/Preboot /Library /private /private/var /private/var/db /private/var/folders
		/dev /Volumes /Users /Applications /opt /opt/homebrew /opt/local /cores $HOME $HOME/Library $HOME/Library/Caches $HOME/Library/Preferences`)
	wide = append(wide, "/Library/Application Support", "$HOME/Library/Application Support", "$HOME/Library/Containers",
		"$HOME/Library/Group Containers", "/Library/Preferences", "/Library/Keychains")
	for name := range overlays(t) {
		has := besides(t, name)
		for _, text := range append(slices.Clone(has["readonly_paths"]), has["writable_paths"]...) {
			if slices.Contains(wide, text) || text == "/private/etc" && name != "moderate" ||
				strings.HasSuffix(text, "/") {
				t.Errorf("%s opens %s as a whole", name, text)
			}
		}
		if writes := has["writable_paths"]; len(writes) > 0 && name != "permissive" {
			t.Errorf("%s makes %v writable", name, writes)
		}
		for _, text := range has["writable_paths"] {
			if !strings.HasPrefix(text, "$HOME/Library/Caches/") {
				t.Errorf("%s makes %s writable", name, text)
			}
		}
	}
}

// What secrets hides is opened by others with a comment that says so, and never
// a place that has a rule of its own there.
func TestMacOpensSecretsKnowingly(t *testing.T) {
	secrets := resolveOn(t, "darwin", mac, "secrets")
	comments := 0
	for name, text := range overlays(t) {
		has := besides(t, name)
		for _, item := range append(slices.Clone(has["readonly_paths"]), has["writable_paths"]...) {
			path, ok, err := mac.Expand(item)
			if err != nil || !ok {
				t.Fatal(item, err)
			}
			r, hidden := secrets.Decide(path)
			if !hidden || r.Access != policy.Block {
				continue
			}
			if comments++; !strings.Contains(text, ", which secrets hides, this shows") {
				t.Errorf("darwin/%s.toml opens %s, which secrets hides, and has no word about it", name, item)
			}
			if r.Path != "/Users/u/Library" && r.Path != "/Library/Preferences" &&
				r.Path != "/Library/Application Support" && r.Path != "/Library/Managed Preferences" {
				t.Errorf("darwin/%s.toml opens %s, which secrets names: %+v", name, item, r)
			}
		}
	}
	if comments < 15 {
		t.Errorf("only %d are opened", comments)
	}
}

// Groups are the lines between two comments: sorted, so that one finds a name.
func TestMacSecretsAreSorted(t *testing.T) {
	var group []string
	word := regexp.MustCompile(`"([^"]*)"`)
	for line := range strings.Lines(overlays(t)["secrets"]) {
		if !strings.HasPrefix(line, `  "`) {
			if !slices.IsSorted(group) {
				t.Errorf("not sorted: %q", group)
			}
			group = nil
			continue
		}
		for _, m := range word.FindAllStringSubmatch(line, -1) {
			group = append(group, m[1])
		}
	}
}

func TestMacSecretsAreHidden(t *testing.T) {
	hidden := strings.Split(`~/Library/Keychains/login.keychain-db
~/Library/Cookies/Cookies.binarycookies
~/Library/Safari/History.db
~/Library/Mail/V10/x
~/Library/Messages/chat.db
~/Library/Calendars/x
~/Library/Containers/com.apple.Safari/Data/x
~/Library/Containers/com.docker.docker/Data/docker.raw.sock
~/Library/Group Containers/group.com.apple.notes/NoteStore.sqlite
~/Library/Group Containers/2BUA8C4S2C.com.1password/t/agent.sock
~/Library/Application Support/Google/Chrome/Default/Cookies
~/Library/Application Support/Firefox/Profiles/x/logins.json
~/Library/Application Support/com.operasoftware.Opera/Default/Cookies
~/Library/Application Support/Arc/User Data/Default/Cookies
~/Library/Application Support/Bitwarden/data.json
~/Library/Application Support/Slack/Cookies
~/Library/Application Support/Code/User/globalStorage/state.vscdb
~/Library/Application Support/Claude/config.json
~/Library/Application Support/AddressBook/AddressBook-v22.abcddb
~/Library/Application Support/com.apple.TCC/TCC.db
~/Library/Application Support/MobileSync/Backup/x
~/Library/Application Support/Exodus/exodus.wallet/seed.seco
~/Library/Application Support/some program of tomorrow/token
~/Library/Application Support/pypoetry/auth.toml
~/Library/Caches/Google/Chrome/x
~/Library/Caches/com.apple.Safari/x
~/Library/Mobile Documents/com~apple~CloudDocs/x
~/Library/CloudStorage/Dropbox/x
~/Library/Preferences/com.googlecode.iterm2.plist
~/Library/LaunchAgents/x.plist
~/Library/Developer/Xcode/x
~/Pictures/Photos Library.photoslibrary/database/Photos.sqlite
~/.Trash/x
~/.docker/run/docker.sock
~/.orbstack/run/docker.sock
~/.colima/default/docker.sock
~/.lima/default/sock
~/.rd/docker.sock
~/AuthKey_ABC.p8
~/.ssh/id_ed25519
~/.config/gh/hosts.yml
~/.claude/.credentials.json
~/src/app/AuthKey_ABC.p8
~/src/app/build.keychain-db
/Library/Keychains/System.keychain
/Library/Application Support/com.apple.TCC/TCC.db
/Library/Preferences/com.apple.loginwindow.plist
/Library/Preferences/SystemConfiguration/preferences.plist
/private/etc/master.passwd
/private/etc/sudoers
/private/etc/sudoers.d/x
/private/etc/kcpassword
/private/etc/krb5.keytab
/private/etc/ssh/ssh_host_ed25519_key
/private/var/db/dslocal/nodes/Default/users/u.plist
/private/var/db/shadow/x
/private/var/run/docker.sock
/private/var/run/com.apple.launchd.x/Listeners
/private/tmp/com.apple.launchd.x/Listeners
/private/var/folders/x/y/T/ssh-x/agent.1
/private/var/log/system.log
/private/var/folders/x/y/C/com.apple.x
/opt/homebrew/var/postgresql@16/x
/usr/local/var/mysql/x
/System/Volumes/Data/Users/u/.ssh/id_rsa
/System/Volumes/VM/x
/Users/other/x
/Volumes/Time Machine/x
/.vol/1/2
/cores/core.1`, "\n")
	open := strings.Fields("/usr/bin/env /System/Library/Frameworks/x /System/Volumes/Preboot/Cryptexes/OS/x /Library/Apple/x /Library/Developer/CommandLineTools/usr/bin/git /private/var/db/timezone/tz/x /private/var/select/sh /private/var/db/xcode_select_link /private/etc/paths ~/src/app/main.go")
	for _, name := range []string{"strict", "moderate", "permissive"} {
		p := resolveOn(t, "darwin", mac, name)
		for _, f := range hidden {
			if a := p.Access(strings.Replace(f, "~/", "/Users/u/", 1)); a == policy.Read || a == policy.Write ||
				a == policy.Protect {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
		for _, f := range open {
			if a := p.Access(strings.Replace(f, "~/", "/Users/u/", 1)); a != policy.Read && a != policy.Write {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
	}
	// A directory of ~/Library that a person opens keeps what is named in it hidden.
	for _, dir := range []string{"/Users/u/Library", "/Users/u/Library/Application Support",
		"/Users/u/Library/Application Support/Google", "/Users/u/Library/Caches"} {
		p, err := policy.Resolve(For("darwin"), []string{"moderate"}, mac,
			&policy.Profile{Name: "flags", Layer: policy.Flag,
				Read: policy.List{Items: []policy.Item{{Text: dir, Source: "-r", Layer: policy.Flag}}}})
		if err != nil {
			t.Fatal(err)
		}
		if a := p.Access(dir + "/x"); a != policy.Read && dir != "/Users/u/Library/Application Support/Google" {
			t.Errorf("-r %s: %s", dir, a)
		}
		for _, f := range []string{"Application Support/Slack/Cookies", "Keychains/login.keychain-db",
			"Caches/com.apple.Safari/x", "Messages/chat.db"} {
			if a := p.Access("/Users/u/Library/" + f); a == policy.Read {
				t.Errorf("-r %s: %s: %s", dir, f, a)
			}
		}
	}
}

func TestMacAsDesigned(t *testing.T) {
	for _, c := range []struct {
		name   string
		access map[string]policy.Access
	}{
		{"strict", map[string]policy.Access{
			"/private/tmp": policy.Private, "/private/etc/hosts.equiv": policy.Unseen,
			"/opt/homebrew/bin/x": policy.Unseen, "/Applications/x.app": policy.Unseen,
			"/Library/Perl":      policy.Unseen,
			"/Users/u/src/app/x": policy.Read, "/Users/u/Library/pnpm": policy.Private,
		}},
		{"moderate", map[string]policy.Access{
			"/private/tmp": policy.Private, "/private/etc/fstab": policy.Read, "/opt/homebrew/bin/x": policy.Read,
			"/Applications/x.app": policy.Unseen,
			"/Applications/Xcode.app/Contents/Developer/usr/bin/x": policy.Read,
			"/Users/u/src/app/x": policy.Write, "/Users/u/src/app/.swiftpm/configuration/mirrors.json": policy.Protect,
			"/Users/u/src/app/x.xcodeproj/project.pbxproj": policy.Write,
			"/Users/u/Library/pnpm":                        policy.Read, "/Users/u/Library/Python/3.12/bin/x": policy.Read,
			"/Library/Java/x": policy.Read, "/Users/u/Library/Caches/go-build": policy.Private,
			"/private/var/folders/x/y/T": policy.Unseen, "/private/var/run": policy.Unseen,
		}},
		{"permissive", map[string]policy.Access{
			"/private/tmp": policy.Private, "/private/var/folders/x": policy.Private, "/Volumes/x": policy.Private,
			"/Users/other": policy.Private, "/Users/Shared/x": policy.Read, "/Users/u/x": policy.Read,
			"/Applications/x.app": policy.Read, "/private/var/run/mDNSResponder": policy.Read,
			"/private/var/root": policy.Read, "/private/var/db": policy.Block, "/private/var/log": policy.Block,
			"/Users/u/Library": policy.Block, "/Users/u/Library/Caches/go-build/x": policy.Write,
			"/Users/u/Library/Caches/x": policy.Block,
		}},
		{"claude", map[string]policy.Access{"/Library/Application Support/ClaudeCode/managed-settings.json": policy.Read, "/Library/Application Support/x": policy.Unseen}},
	} {
		p := resolveOn(t, "darwin", mac, c.name)
		for path, want := range c.access {
			if a := p.Access(path); a != want {
				t.Errorf("%s: %s: %s, want %s", c.name, path, a, want)
			}
		}
	}
	// A project may lie where nothing else is shown.
	for _, stand := range []string{"on another disk", "in TMPDIR"} {
		for _, name := range []string{"moderate", "permissive"} {
			if p := resolveOn(t, "darwin", stands[stand], name); p.Access(stands[stand].CWD+"/x") != policy.Write ||
				p.Access(policy.Dir(stands[stand].CWD)+"/other") != policy.Unseen && name == "moderate" {
				t.Errorf("%s, %s: %s", name, stand, p.Access(stands[stand].CWD+"/x"))
			}
		}
	}
}

func TestMacEnvironment(t *testing.T) {
	for _, name := range []string{"strict", "moderate", "permissive"} {
		p := resolveOn(t, "darwin", mac, name)
		for _, v := range strings.Fields("SECURITYSESSIONID XPC_SERVICE_NAME XPC_FLAGS __XPC_DYLD_INSERT_LIBRARIES DYLD_INSERT_LIBRARIES Apple_PubSub_Socket_Render LaunchInstanceID CFFIXED_USER_HOME ITERM_SESSION_ID TERM_SESSION_ID SSH_AUTH_SOCK FASTLANE_SESSION GH_TOKEN") {
			if p.Env(v).Pass {
				t.Errorf("%s: %s passes", name, v)
			}
		}
		for _, v := range strings.Fields("PATH HOME __CF_USER_TEXT_ENCODING COMMAND_MODE SDKROOT DEVELOPER_DIR MACOSX_DEPLOYMENT_TARGET") {
			if !p.Env(v).Pass {
				t.Errorf("%s: %s is dropped (%s)", name, v, p.Env(v).Source)
			}
		}
	}
}

// Where a rule comes from is said as it is.
func TestMacSources(t *testing.T) {
	p := resolveOn(t, "darwin", mac, "moderate")
	for path, want := range map[string]string{
		"/System/Library": "moderate on macOS", "/usr": "moderate", "/Users/u/Library/pnpm": "node on macOS",
		"/Users/u/.volta": "node", "/Library/Keychains": "secrets on macOS", "/Users/u/.ssh": "secrets",
	} {
		if r, ok := p.Decide(path); !ok || r.Source != want || r.Path != path {
			t.Errorf("%s: %+v, want %s", path, r, want)
		}
	}
}

// Every statement of both texts is in the text for macOS, once; that it says
// what the generated value says is tested where there is a reader.
func TestMacText(t *testing.T) {
	for name, more := range overlays(t) {
		text, ok := TextFor("darwin", name)
		common, _ := TextFor("linux", name)
		if !ok || !strings.Contains(text, "# On macOS.\n") || strings.Contains(common, "On macOS.") {
			t.Errorf("%s: %v", name, ok)
		}
		keys := regexp.MustCompile(`(?m)^[a-z_]+ = `).FindAllString(text, -1)
		slices.Sort(keys)
		if len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Errorf("%s: a key stands there twice: %v", name, keys)
		}
		for _, from := range []string{common, more} {
			for _, item := range regexp.MustCompile(`"[^"]*"`).FindAllString(from, -1) {
				if !strings.Contains(text, item) {
					t.Errorf("%s has not %s", name, item)
				}
			}
		}
		if a, b := summary(text), summary(common); a != b {
			t.Errorf("%s: %q, %q", name, a, b)
		}
	}
}

func TestMerge(t *testing.T) {
	common := "# x: y\na = true\nl = [\"1\"]\nm = [\n  \"1\" \n]\n"
	for _, tt := range []struct{ besides, want string }{
		{"", common},
		{"# Why.\nl = [\n  \"2\",\n]\n",
			"# x: y\na = true\nl = [\"1\",\n  # On macOS.\n  # Why.\n  \"2\",\n]\nm = [\n  \"1\" \n]\n"},
		{"m = [\n  \"2\",\n]\n", "# x: y\na = true\nl = [\"1\"]\nm = [\n  \"1\" ,\n  # On macOS.\n  \"2\",\n]\n"},
		{"a = false\n\n# New.\nn = [\n  \"3\",\n]\n",
			"# x: y\n# On macOS.\na = false\nl = [\"1\"]\nm = [\n  \"1\" \n]\n\n# On macOS.\n# New.\nn = [\n  \"3\",\n]\n"},
	} {
		if got := merge(common, tt.besides); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.besides, got, tt.want)
		}
	}
}
