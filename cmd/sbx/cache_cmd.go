// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/caches"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// cacheCmd is about the private caches of projects.
type cacheCmd struct {
	List  cacheListCmd  `cmd:"" default:"withargs" help:"Show them; those of projects that are gone are removed."`
	Clean cacheCleanCmd `cmd:"" help:"Remove those of projects, or after a question all."`
}

type cacheListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type cacheCleanCmd struct {
	Projects []string `arg:"" optional:"" name:"project" help:"Directory of a project, or the name of a cache."`
}

// removeTime bounds what the commands spend on removing, and what a listing does.
const removeTime, listTime = 10 * time.Minute, 2 * time.Second

func findCaches() (s caches.Store, list []caches.Cache, err error) {
	if _, ok := engine.Inside(); ok {
		return s, nil, app.Failed("this runs inside a sandbox, which sees one cache: run sbx cache outside of it", "")
	}
	c, err := app.Here("")
	if err != nil {
		return s, nil, err
	}
	dir := c.CacheDir()
	if dir == "" {
		return s, nil, app.Failed("cache: there is no home directory, so none is kept", "")
	}
	s = caches.Store{Dir: dir + "/projects", UID: c.Host.UID}
	list, err = s.List(func(path string) bool { return !c.Host.OnRemote(path) })
	if err != nil {
		err = app.Failed("cache: "+err.Error(), "")
	}
	return s, list, err
}

func (c *cacheListCmd) Run() error {
	s, list, err := findCaches()
	if err != nil {
		return err
	}
	for i := range list {
		s.Measure(&list[i])
	}
	gone := slices.DeleteFunc(slices.Clone(list), func(l caches.Cache) bool { return !l.Gone })
	_ = s.Remove(listTime, gone...) // after an interrupted removal there is something to do without one
	return show(c.JSON, listJSON{"caches": orEmpty(list)}, func() error {
		if len(list) == 0 && onTerminal() {
			fmt.Fprintln(stdout, "no project has a private cache")
		}
		w := table()
		for _, l := range list {
			note := ""
			if l.Gone {
				note = "\tremoved: the directory does not exist any more"
			}
			fmt.Fprintf(w, "%s\t%s%s\n", size(&l), ofProject(&l), note)
		}
		return w.Flush()
	})
}

// ofProject is the project of a cache, for people.
func ofProject(c *caches.Cache) string {
	if c.Project == "" {
		return c.Name + " (of a project that is not known)"
	}
	return text.Plain(c.Project)
}

// size is what a cache takes, as people read it.
func size(c *caches.Cache) string {
	n, units, more := float64(c.Bytes), []string{"B", "kB", "MB", "GB", "TB"}, ""
	for n >= 1000 && len(units) > 1 {
		n, units = n/1000, units[1:]
	}
	digits := 0
	if units[0] != "B" && n < 10 {
		digits = 1
	}
	if c.More {
		more = "> "
	}
	return fmt.Sprintf("%s%.*f %s", more, digits, n, units[0])
}

func (c *cacheCleanCmd) Run() error {
	s, list, err := findCaches()
	switch {
	case err != nil:
	case len(c.Projects) > 0:
		list, err = chosen(list, c.Projects)
	case len(list) > 0:
		err = agree(s, list)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	if err := s.Remove(removeTime, list...); err != nil {
		return app.Failed("cache: "+err.Error(), "")
	}
	return nil
}

// agree asks whether all are to be removed.
func agree(s caches.Store, list []caches.Cache) error {
	if !app.IsTerminal(0) || !app.IsTerminal(2) {
		return app.Failed("cache clean: no project is named, and there is no terminal to ask at",
			"sbx cache clean PROJECT; sbx cache lists them")
	}
	var all caches.Cache
	for i := range list {
		s.Measure(&list[i])
		all.Bytes, all.More = all.Bytes+list[i].Bytes, all.More || list[i].More
	}
	if !confirm(fmt.Sprintf("remove the caches of all projects (%d, %s)?", len(list), size(&all))) {
		return app.Failed("cache clean: nothing was removed", "")
	}
	return nil
}

// chosen are the caches that words name: by the project's directory, or another in
// it, or by their own name.
func chosen(list []caches.Cache, words []string) (out []caches.Cache, err error) {
	for _, word := range words {
		dir, _ := filepath.Abs(word)
		real, absent := filepath.EvalSymlinks(dir)
		if absent == nil {
			dir = real
		}
		of := func(c caches.Cache) bool { return c.Name == word || c.Project == dir }
		at := slices.IndexFunc(list, of)
		for ; at < 0 && absent == nil && dir != "/"; at = slices.IndexFunc(list, of) {
			dir = policy.Dir(dir)
		}
		if at < 0 {
			err = errors.Join(err, errors.New(text.Plain(word)))
			continue
		}
		out = append(out, list[at])
	}
	if err != nil {
		return nil, &host.Error{Status: host.StatusFailed, Text: "cache clean: there is no cache of " + host.OneLine(err.Error()),
			Hint: "sbx cache lists them"}
	}
	return out, nil
}
