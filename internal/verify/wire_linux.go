// SPDX-License-Identifier: Apache-2.0

package verify

// question is one act for the probe to try. It holds names and addresses, and
// never the content of anything. Paths are bytes, which JSON keeps as base64:
// a file name need not be UTF-8.
type question struct {
	ID   int    `json:"id"`
	Act  string `json:"act"`
	Path []byte `json:"path,omitempty"`
	To   []byte `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
	Args []int  `json:"args,omitempty"`
}

// answer is how an act went. Errno is 0 when it could be done; otherwise it is
// the kernel's, and Step says at which part of the act.
type answer struct {
	ID    int    `json:"id"`
	Errno int    `json:"errno,omitempty"`
	Step  string `json:"step,omitempty"`

	File  *fileInfo  `json:"file,omitempty"`
	Guard *guardInfo `json:"guard,omitempty"`
	Self  *selfInfo  `json:"self,omitempty"`
	Found []string   `json:"found,omitempty"`
	Read  int        `json:"read,omitempty"` // how many processes a search could read

	End bool `json:"end,omitempty"` // of all answers
}

// fileInfo is what there is at a path.
type fileInfo struct {
	Kind  string   `json:"kind"` // absent, file, dir, link, socket, other; "" when it cannot be seen
	Dev   uint64   `json:"dev,omitempty"`
	Ino   uint64   `json:"ino,omitempty"`
	Own   bool     `json:"own,omitempty"` // it belongs to who looks
	Size  int64    `json:"size,omitempty"`
	Read  bool     `json:"read,omitempty"` // it could be opened for reading
	Sum   string   `json:"sum,omitempty"`  // SHA-256 of the first 64 KiB
	Names [][]byte `json:"names,omitempty"`
	May   bool     `json:"may,omitempty"`   // it could not be opened, though permissions alone allow it
	Errno int      `json:"errno,omitempty"` // why it could not be opened or looked at
}

// guardInfo is what keeps a path in place beside its mode.
type guardInfo struct {
	ReadOnly bool `json:"ro,omitempty"`    // the mount is read-only
	Mount    bool `json:"mount,omitempty"` // the path is a mount point, which cannot be renamed
	Own      bool `json:"own,omitempty"`   // the file, or the directory it is in, belongs to the command's user
	May      bool `json:"may,omitempty"`   // permissions alone allow the act
}

// selfInfo is what the probe knows of its own process.
type selfInfo struct {
	Status  map[string]string `json:"status"` // of /proc/self/status
	Core    uint64            `json:"core"`   // limit of core dumps, in bytes
	Session int               `json:"session"`
	Spaces  map[string]string `json:"spaces"` // namespaces, as links of /proc/self/ns show them
	Env     []string          `json:"env"`    // names only
	FDs     []fdInfo          `json:"fds"`
	Dev     []string          `json:"dev"`
	Links   []string          `json:"links"` // network interfaces
	Mounts  []mountInfo       `json:"mounts"`
}

// mountInfo is a line of /proc/self/mountinfo.
type mountInfo struct {
	Path     []byte `json:"path"`
	ReadOnly bool   `json:"ro,omitempty"`
	Covered  bool   `json:"covered,omitempty"` // its path leads elsewhere: something is mounted over it, or above
}

// fdInfo is an open descriptor that was there when the probe started.
type fdInfo struct {
	Num     int    `json:"num"`
	Kind    string `json:"kind"`
	Target  string `json:"target"`
	Foreign bool   `json:"foreign,omitempty"` // its mount is not one of the sandbox's
}
