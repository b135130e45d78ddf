// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newStore(t *testing.T) TrustStore {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return TrustStore{Dir: filepath.Join(dir, "state", "sbx", "trust")}
}

func TestTrustStore(t *testing.T) {
	s := newStore(t)
	check := func(path, data string, want TrustState, wantAgreed string) {
		t.Helper()
		state, agreed, err := s.Check(path, []byte(data))
		if state != want || string(agreed) != wantAgreed || err != nil {
			t.Errorf("Check(%q, %q) = %v, %q, %v", path, data, state, agreed, err)
		}
	}
	paths := []string{"/p/.sbx.toml", "/p p/\n/.sbx.hcl", "/p\xff\x80/.sbx.toml", "/5\n/p/.sbx.toml"}
	check(paths[0], "a", Unknown, "")
	for _, path := range paths {
		must(t, s.Add(path, []byte("a\n")))
		check(path, "a\n", Trusted, "a\n")
		check(path, "a", Changed, "a\n")
		check(path, "", Changed, "a\n")
		check(path+"x", "a\n", Unknown, "")
		must(t, s.Add(path, nil))
		check(path, "", Trusted, "")
		check(path, "a\n", Changed, "")
	}
	var listed []string
	records, bad := s.List()
	for _, r := range records {
		listed = append(listed, r.Path)
	}
	want := []string{paths[3], paths[1], paths[0], paths[2]}
	if diff := cmp.Diff(want, listed); diff != "" || bad != nil {
		t.Error(diff, bad)
	}
	for i, want := range []bool{true, false} {
		if was, err := s.Remove(paths[0]); was != want || err != nil {
			t.Error(i, was, err)
		}
	}
	check(paths[0], "", Unknown, "")
	check(paths[1], "", Trusted, "")
}

// TestTrustModes: others need not know which projects one trusts, and nothing but
// records stays.
func TestTrustModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	s := newStore(t)
	must(t, s.Add("/p/.sbx.toml", []byte("a")))
	must(t, s.Add("/p/.sbx.toml", []byte("b")))
	entries, err := os.ReadDir(s.Dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != recordName("/p/.sbx.toml") {
		t.Error(entries)
	}
	for path, want := range map[string]os.FileMode{s.Dir: 0o700, filepath.Dir(s.Dir): 0o700, s.Dir + "/" +
		recordName("/p/.sbx.toml"): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Error(path, info.Mode())
		}
	}
}

func TestTrustNoHome(t *testing.T) {
	state, _, err := TrustStore{}.Check("/p/.sbx.toml", nil)
	if state != Unknown || err != nil || (TrustStore{}).Add("/p/.sbx.toml", nil) == nil {
		t.Error(state, err)
	}
}

// TestTrustRefuses spoils a good record, each time in another way: the file is not
// trusted, and an error says why. DIR stands for the store, REC for the name
// of the record.
func TestTrustRefuses(t *testing.T) {
	const path, data = "/p/.sbx.toml", "agreed"
	tests := []struct {
		name, want string
		root       bool
		spoil      func(t *testing.T, dir, rec string)
	}{
		{"control", "", false, func(t *testing.T, dir, rec string) {}},
		{"link", "DIR/REC: it is a symbolic link", false, func(t *testing.T, dir, rec string) {
			must(t, os.Rename(rec, dir+"/real"))
			must(t, os.Symlink("real", rec))
		}},
		{"writable by group", "DIR/REC: it is writable by others", false,
			func(t *testing.T, dir, rec string) { must(t, os.Chmod(rec, 0o620)) }},
		{"writable by all", "DIR/REC: it is writable by others", false,
			func(t *testing.T, dir, rec string) { must(t, os.Chmod(rec, 0o602)) }},
		{"another's", "DIR/REC: it belongs to uid 12345, not to you", true,
			func(t *testing.T, dir, rec string) { must(t, os.Chown(rec, 12345, -1)) }},
		{"fifo", "DIR/REC: it is not a regular file", false, func(t *testing.T, dir, rec string) {
			must(t, os.Remove(rec))
			must(t, syscall.Mkfifo(rec, 0o600))
		}},
		{"directory", "DIR/REC: it is not a regular file", false, func(t *testing.T, dir, rec string) {
			must(t, os.Remove(rec))
			must(t, os.Mkdir(rec, 0o700))
		}},
		{"large", "DIR/REC: it is larger than 1052690 bytes", false,
			func(t *testing.T, dir, rec string) { must(t, os.Truncate(rec, 100<<20)) }},
		{"empty", "DIR/REC: not a record of a trusted file", false,
			func(t *testing.T, dir, rec string) { must(t, os.Truncate(rec, 0)) }},
		{"cut in the path", "DIR/REC: not a record of a trusted file", false,
			func(t *testing.T, dir, rec string) { must(t, os.Truncate(rec, 20)) }},
		{"of another file", "DIR/REC: a record of another file, /q/.sbx.toml", false,
			func(t *testing.T, dir, rec string) {
				must(t, os.WriteFile(rec, encodeRecord("/q/.sbx.toml", []byte(data)), 0o600))
			}},
		{"store is a link", "DIR: it is a symbolic link", false, func(t *testing.T, dir, rec string) {
			must(t, os.Rename(dir, dir+"2"))
			must(t, os.Symlink("trust2", dir))
		}},
		{"store writable by group", "DIR: it is writable by others", false,
			func(t *testing.T, dir, rec string) { must(t, os.Chmod(dir, 0o770)) }},
		{"sticky is no help", "DIR: it is writable by others", false,
			func(t *testing.T, dir, rec string) { must(t, os.Chmod(dir, 0o777|os.ModeSticky)) }},
		{"store of another", "DIR: it belongs to uid 12345, not to you", true,
			func(t *testing.T, dir, rec string) { must(t, os.Chown(dir, 12345, -1)) }},
		{"directory of the store is a link", "UP: it is a symbolic link", false, func(t *testing.T, dir, rec string) {
			must(t, os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"2"))
			must(t, os.Symlink("sbx2", filepath.Dir(dir)))
		}},
		{"directory of the store writable", "UP: it is writable by others", false,
			func(t *testing.T, dir, rec string) { must(t, os.Chmod(filepath.Dir(dir), 0o777)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("gives a file away: needs root")
			}
			s := newStore(t)
			must(t, s.Add(path, []byte(data)))
			tt.spoil(t, s.Dir, s.Dir+"/"+recordName(path))
			state, agreed, err := s.Check(path, []byte(data))
			got := ""
			if err != nil {
				got = strings.NewReplacer(recordName(path), "REC", s.Dir, "DIR", filepath.Dir(s.Dir),
					"UP").Replace(err.Error())
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if trusted := state == Trusted; trusted != (tt.want == "") || err != nil &&
				(state != Unknown || agreed != nil) {
				t.Error(state, agreed)
			}
			if fe := (*FileError)(nil); err != nil && !errors.As(err, &fe) {
				t.Errorf("%T", err)
			}
			// What is wrong with the store keeps records from being added to it;
			// what is wrong with a record does not.
			err = s.Add(path, []byte(data))
			store := strings.HasPrefix(tt.want, "DIR:") || strings.HasPrefix(tt.want, "UP:")
			if _, isDir := os.Stat(s.Dir + "/" + recordName(path) + "/."); (err != nil) != (store || isDir == nil) {
				t.Error("Add:", err)
			}
		})
	}
}

// TestTrustFollowsNoLink: a link in place of a record is replaced, not
// written through.
func TestTrustFollowsNoLink(t *testing.T) {
	s := newStore(t)
	must(t, s.Add("/p/.sbx.toml", []byte("a")))
	rec, target := s.Dir+"/"+recordName("/p/.sbx.toml"), s.Dir+"/../target"
	must(t, os.WriteFile(target, []byte("mine"), 0o600))
	must(t, os.Remove(rec))
	must(t, os.Symlink("../target", rec))
	must(t, s.Add("/p/.sbx.toml", []byte("b")))
	if data, err := os.ReadFile(target); string(data) != "mine" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	if state, _, err := s.Check("/p/.sbx.toml", []byte("b")); state != Trusted {
		t.Error(state, err)
	}
}

func TestTrustListTellsOfBadRecords(t *testing.T) {
	s := newStore(t)
	must(t, s.Add("/p/.sbx.toml", []byte("a")))
	must(t, os.WriteFile(s.Dir+"/x", []byte("y"), 0o600))
	must(t, os.WriteFile(s.Dir+"/"+strings.Repeat("0", 64), encodeRecord("/p/.sbx.toml", nil), 0o600))
	must(t, os.WriteFile(s.Dir+"/.new-1", nil, 0o600))
	records, bad := s.List()
	if len(records) != 1 || len(bad) != 2 {
		t.Error(records, bad)
	}
}

// FuzzRecord: only what encodeRecord writes is a record.
func FuzzRecord(f *testing.F) {
	f.Add(string(encodeRecord("/p/.sbx.toml", []byte("a\n"))))
	f.Add(header + "4\n/a\nb\n")
	f.Add(header + "04\n/a\nb\n")
	f.Add(header + "-1\n\n")
	f.Add(header + "99999999999999999999\n/")
	f.Fuzz(func(t *testing.T, rec string) {
		path, data, ok := decodeRecord(rec)
		if ok && (string(encodeRecord(path, []byte(data))) != rec || path[0] != '/') {
			t.Errorf("%q is not %q", encodeRecord(path, []byte(data)), rec)
		}
	})
}

func BenchmarkTrustCheck(b *testing.B) {
	s := TrustStore{Dir: filepath.Join(b.TempDir(), "sbx", "trust")}
	data := []byte(strings.Repeat("x", 500))
	if err := s.Add("/p/.sbx.toml", data); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if state, _, err := s.Check("/p/.sbx.toml", data); state != Trusted {
			b.Fatal(err)
		}
	}
}
