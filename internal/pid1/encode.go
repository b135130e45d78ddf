// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"errors"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// version begins what [InitConfig.Encode] writes.
const version = "sbx 5"

var errConfig = errors.New("the configuration of process 1 is damaged")

// Encode gives the bytes that [decode] reads.
func (cfg *InitConfig) Encode() []byte {
	c, own := codec{out: make([]byte, 0, 1024+len(cfg.Expected))}, *cfg
	own.fields(&c)
	return c.out
}

// decode reads what [InitConfig.Encode] wrote. What is not exactly that is an error:
// nothing is guessed where walls are at stake.
func decode(b []byte) (*InitConfig, error) {
	cfg := new(InitConfig)
	c := codec{in: string(b), reads: true}
	if cfg.fields(&c); c.bad || c.in != "" {
		return nil, errConfig
	}
	return cfg, nil
}

// fields writes or reads all that there is, in one order. What is read has to be
// such as a plan has.
func (cfg *InitConfig) fields(c *codec) {
	is := version
	c.text(&is)
	c.require(is == version)
	c.text(&cfg.Path)
	c.require(cfg.Path != "")
	list(c, &cfg.Argv, c.text)
	integer(c, &cfg.Group)
	c.require(cfg.Group <= Beside)
	integer(c, &cfg.Mask)
	limit := uint64(cfg.Limit * 1e9)
	integer(c, &limit)
	cfg.Limit = float64(limit) / 1e9
	list(c, &cfg.Rlimits, func(l *Rlimit) {
		integer(c, &l.Resource)
		c.require(l.Resource >= 0 && l.Resource < 64)
		integer(c, &l.Max)
	})
	c.text(&cfg.Memory)
	for _, fd := range append(cfg.Parent.list(), &cfg.OOM) {
		c.fd(fd, -1)
	}
	for _, fds := range []*[]int{&cfg.Reopen, &cfg.Keep} {
		list(c, fds, func(fd *int) { c.fd(fd, 0) })
	}
	rulesets := []landlock.Ruleset{}
	if cfg.Ruleset != nil {
		rulesets = append(rulesets, *cfg.Ruleset)
	}
	list(c, &rulesets, c.ruleset)
	if cfg.Ruleset = nil; len(rulesets) == 1 {
		cfg.Ruleset = &rulesets[0]
	}
	list(c, &cfg.Masks, func(m *Mask) {
		integer(c, &m.Kind)
		c.text(&m.Path)
		c.text(&m.Top)
		c.require(m.valid())
	})
	list(c, &cfg.Hints, c.text)
	list(c, &cfg.Private, c.text)
	c.text(&cfg.Ports)
	for _, f := range []*[]byte{&cfg.Filter, &cfg.Own} {
		c.bytes(f)
		c.require(*f == nil || validFilter(*f))
	}
	c.fd(&cfg.Wall, 0)
	list(c, &cfg.Held, func(fd *int) { c.fd(fd, 0) })
	list(c, &cfg.After, c.text)
	c.flag(&cfg.Leaves)
	c.bytes(&cfg.Expected)
}

func (c *codec) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	integer(c, &n)
	*v = n == 1
}

func (c *codec) ruleset(r *landlock.Ruleset) {
	integer(c, &r.FS)
	integer(c, &r.Net)
	integer(c, &r.Scope)
	list(c, &r.Rules, func(r *landlock.Rule) {
		integer(c, &r.Allow)
		integer(c, &r.Dev)
		integer(c, &r.Ino)
		c.text(&r.Path)
		c.require(r.Path != "" && r.Path[0] == '/')
	})
}

// validFilter reports whether b can be a program of struct sock_filter, which
// has eight bytes and at most BPF_MAXINSNS instructions.
func validFilter(b []byte) bool {
	return len(b) > 0 && len(b)%8 == 0 && len(b)/8 <= 4096
}

// codec writes values to the end of out, or reads them from the beginning of in:
// numbers in decimal with a space after them, texts after their length.
type codec struct {
	out   []byte
	in    string
	reads bool
	bad   bool // what was read is not a configuration
}

func (c *codec) require(ok bool) { c.bad = c.bad || !ok }

func integer[T ~int | ~byte | ~uint64](c *codec, v *T) {
	if !c.reads {
		c.out = append(strconv.AppendUint(c.out, uint64(*v), 10), ' ')
		return
	}
	word, rest := procfs.Cut(c.in, ' ')
	n, err := strconv.ParseUint(word, 10, 64)
	*v = T(n)
	c.require(err == nil && len(word) < len(c.in) && uint64(*v) == n)
	c.in = rest
}

// maxFD is more than a process can have (fs.nr_open).
const maxFD = 1 << 30

func (c *codec) fd(v *int, least int) {
	integer(c, v)
	c.require(*v >= least && *v < maxFD)
}

// size is the number of bytes or values that follow.
func (c *codec) size(n int) int {
	integer(c, &n)
	if c.require(!c.reads || n >= 0 && n <= len(c.in)); c.bad { // each value has a byte at least
		return 0
	}
	return n
}

func (c *codec) text(s *string) {
	n := c.size(len(*s))
	if !c.reads {
		c.out = append(c.out, *s...)
		return
	}
	*s, c.in = c.in[:n], c.in[n:]
}

func (c *codec) bytes(v *[]byte) {
	s := string(*v)
	c.text(&s)
	if *v = nil; s != "" {
		*v = []byte(s)
	}
}

func list[T any](c *codec, values *[]T, value func(*T)) {
	n := c.size(len(*values))
	if c.reads {
		if *values = nil; n > 0 {
			*values = make([]T, n)
		}
	}
	for i := range *values {
		value(&(*values)[i])
	}
}
