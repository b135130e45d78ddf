// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// version begins what [InitConfig.Encode] writes.
const version = "sbx 2"

var errConfig = errors.New("the configuration of process 1 is damaged")

// Encode gives the bytes that [decode] reads.
func (cfg *InitConfig) Encode() []byte {
	c, own := codec{b: make([]byte, 0, 1024+len(cfg.Expected))}, *cfg
	own.fields(&c)
	return c.b
}

// decode reads what [InitConfig.Encode] wrote. What is not exactly that is an error:
// nothing is guessed where walls are at stake.
func decode(b []byte) (*InitConfig, error) {
	cfg := new(InitConfig)
	c := codec{b: b, reads: true}
	if cfg.fields(&c); c.bad || len(c.b) > 0 || !cfg.valid() {
		return nil, errConfig
	}
	return cfg, nil
}

// fields writes or reads all that there is, in one order.
func (cfg *InitConfig) fields(c *codec) {
	is := version
	if c.text(&is); is != version {
		c.bad = true
	}
	c.text(&cfg.Path)
	list(c, &cfg.Argv, c.text)
	integer(c, &cfg.Group)
	c.number(&cfg.Mask)
	limit := uint64(cfg.Limit * 1e9)
	c.number(&limit)
	cfg.Limit = float64(limit) / 1e9
	list(c, &cfg.Rlimits, func(l *Rlimit) { integer(c, &l.Resource); c.number(&l.Max) })
	integer(c, &cfg.OOM)
	c.text(&cfg.Memory)
	for _, fd := range cfg.Parent.list() {
		integer(c, fd)
	}
	list(c, &cfg.Reopen, func(fd *int) { integer(c, fd) })
	list(c, &cfg.Keep, func(fd *int) { integer(c, fd) })
	rulesets := []landlock.Ruleset{}
	if cfg.Ruleset != nil {
		rulesets = append(rulesets, *cfg.Ruleset)
	}
	list(c, &rulesets, func(r *landlock.Ruleset) {
		integer(c, &r.FS)
		integer(c, &r.Net)
		integer(c, &r.Scope)
		list(c, &r.Rules, func(r *landlock.Rule) {
			integer(c, &r.Allow)
			c.number(&r.Dev)
			c.number(&r.Ino)
			c.text(&r.Path)
		})
	})
	if cfg.Ruleset = nil; len(rulesets) == 1 {
		cfg.Ruleset = &rulesets[0]
	}
	list(c, &cfg.Masks, func(m *Mask) { integer(c, &m.Kind); c.text(&m.Path); c.text(&m.Top) })
	list(c, &cfg.Hints, c.text)
	c.bytes(&cfg.Filter)
	c.bytes(&cfg.Expected)
}

// valid reports whether all values are such as a plan has.
func (cfg *InitConfig) valid() bool {
	ok := cfg.Path != "" && cfg.Group <= NewSession && (cfg.Filter == nil || validFilter(cfg.Filter))
	for _, fd := range append(cfg.Parent.list(), &cfg.OOM) {
		ok = ok && *fd >= -1 && *fd < maxFD
	}
	for _, fds := range [][]int{cfg.Reopen, cfg.Keep} {
		for _, fd := range fds {
			ok = ok && fd >= 0 && fd < maxFD
		}
	}
	for _, l := range cfg.Rlimits {
		ok = ok && l.Resource >= 0 && l.Resource < 64
	}
	for i := range cfg.Masks {
		ok = ok && cfg.Masks[i].valid()
	}
	if cfg.Ruleset != nil {
		for i := range cfg.Ruleset.Rules {
			path := cfg.Ruleset.Rules[i].Path
			ok = ok && path != "" && path[0] == '/'
		}
	}
	return ok
}

// maxFD is more than a process can have (fs.nr_open).
const maxFD = 1 << 30

// validFilter reports whether b can be a program of struct sock_filter, which
// has eight bytes and at most BPF_MAXINSNS instructions.
func validFilter(b []byte) bool {
	return len(b) > 0 && len(b)%8 == 0 && len(b)/8 <= 4096
}

// codec writes values to the end of b, or reads them from its beginning.
type codec struct {
	b          []byte
	reads, bad bool
}

func (c *codec) number(n *uint64) {
	if !c.reads {
		for i := range 8 {
			c.b = append(c.b, byte(*n>>(8*i)))
		}
		return
	}
	*n = 0
	if len(c.b) < 8 {
		c.b, c.bad = nil, true
		return
	}
	for i := range 8 {
		*n |= uint64(c.b[i]) << (8 * i)
	}
	c.b = c.b[8:]
}

func integer[T ~int | ~byte | ~uint64](c *codec, v *T) {
	n := uint64(*v)
	c.number(&n)
	if *v = T(n); uint64(*v) != n {
		c.bad = true
	}
}

// size is the number of bytes or values that follow.
func (c *codec) size(n int) int {
	size := uint64(n)
	c.number(&size)
	if c.reads && size > uint64(len(c.b)) { // each value has a byte at least
		c.bad = true
		return 0
	}
	return int(size)
}

func (c *codec) bytes(v *[]byte) {
	n := c.size(len(*v))
	if !c.reads {
		c.b = append(c.b, *v...)
		return
	}
	if *v = nil; n > 0 {
		*v, c.b = c.b[:n:n], c.b[n:]
	}
}

func (c *codec) text(s *string) {
	b := []byte(*s)
	c.bytes(&b)
	*s = string(b)
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
