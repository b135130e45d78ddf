// SPDX-License-Identifier: Apache-2.0

package host

// DefaultPath is where commands are looked for when PATH is unset.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func LookupEnv(env []string, name string) (string, bool) {
	for _, kv := range env {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}
