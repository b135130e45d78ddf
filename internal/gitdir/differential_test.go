// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// How long the readers are compared with git: SBX_TEST_DIFFERENTIAL, for each of
// the two.
func compareFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SBX_TEST_DIFFERENTIAL")
	if text == "" {
		return 500 * time.Millisecond
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// gitRepo is a repository that git is asked about.
type gitRepo struct {
	dir  string
	hash int
}

func newGitRepo(t testing.TB, format string) gitRepo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	r := gitRepo{t.TempDir(), map[string]int{"sha1": 20, "sha256": 32}[format]}
	r.must(t, "init", "-q", "--object-format="+format)
	return r
}

// git runs git where nothing but the repository has settings.
func (r gitRepo) git(input string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir + "/none", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(r.dir)}
	return cmd.Output()
}

func (r gitRepo) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.git("", args...)
	if err != nil {
		t.Fatal(args, err)
	}
	return string(out)
}

func (r gitRepo) path(name string) string { return filepath.Join(r.dir, ".git", name) }

// fill puts files and repositories into the index.
func (r gitRepo) fill(t testing.TB, links ...string) {
	t.Helper()
	blob, err := r.git("text", "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "100644 %s\tdir/%s/file%d\x00", bytes.TrimSpace(blob), strings.Repeat("x", 1+i%9), i)
	}
	for _, l := range links {
		fmt.Fprintf(&b, "160000 %s\t%s\x00", strings.Repeat("1", 2*r.hash), l)
	}
	if _, err := r.git(b.String(), "update-index", "-z", "--index-info"); err != nil {
		t.Fatal(err)
	}
}

func (r gitRepo) readIndex(data []byte) (*Index, error) {
	return ReadIndex(data, r.hash, func(name string) ([]byte, error) { return os.ReadFile(r.path(name)) })
}

// same compares what git lists as repositories with what we read. It reports
// whether git took the index.
func (r gitRepo) same(t testing.TB, data []byte, threads int) bool {
	t.Helper()
	if err := os.WriteFile(r.path("index"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := r.git("", "-c", "index.threads="+strconv.Itoa(threads), "ls-files", "-s", "-z")
	if err != nil {
		return false
	}
	var want []string
	for rec := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(rec, "\t")
		mode, _, _ := strings.Cut(head, " ")
		if m, _ := strconv.ParseUint(mode, 8, 32); m&0o170000 == 0o160000 {
			if name == "./" {
				name = "" // as git shows it
			}
			want = append(want, name)
		}
	}
	got, err := r.readIndex(data)
	if err != nil || len(got.Trees) > 0 {
		return true // reported as unread, or looked after
	}
	slices.Sort(want)
	slices.Sort(got.Links)
	if !slices.Equal(want, got.Links) {
		t.Fatalf("with %d threads git lists %q, we read %q in\n%q", threads, want, got.Links, data)
	}
	return true
}

// Each way that git writes an index.
func indexes(t testing.TB) (repos []gitRepo) {
	t.Helper()
	for _, format := range []string{"sha1", "sha256"} {
		for _, kind := range []string{"2", "3", "4", "threads", "threads4", "split", "split4"} {
			r := newGitRepo(t, format)
			var settings []string
			if strings.HasPrefix(kind, "threads") {
				settings = []string{"-c", "index.threads=3", "-c", "index.recordOffsetTable=true", "-c",
					"index.recordEndOfIndexEntries=true"}
			}
			r.fill(t, "a", "dir/sub/deep", "m/n", "z \n z")
			run := func(args ...string) { t.Helper(); r.must(t, append(slices.Clone(settings), args...)...) }
			if strings.HasSuffix(kind, "4") {
				run("update-index", "--index-version", "4")
			}
			switch kind {
			case "3":
				run("update-index", "--skip-worktree", "m/n", "dir/x/file0")
			case "threads", "threads4":
				run("update-index", "--force-write-index")
			case "split", "split4":
				run("update-index", "--split-index")
				run("update-index", "--force-remove", "a")
				run("update-index", "--cacheinfo", "160000,"+strings.Repeat("2", 2*r.hash)+",m/n")
				run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("2", 2*r.hash)+",new")
			}
			repos = append(repos, r)
		}
	}
	return repos
}

// The repositories in an index, as git lists them, in each version of the format
// and in parts.
func TestReadIndex(t *testing.T) {
	for _, r := range indexes(t) {
		data, err := os.ReadFile(r.path("index"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.readIndex(data)
		if err != nil || len(got.Links) < 4 {
			t.Fatalf("%v in %q: %v", got, data, err)
		}
		if !r.same(t, data, 1) || !r.same(t, data, 3) {
			t.Errorf("git refuses its own index")
		}
		for _, n := range []int{0, 11, 40, len(data) / 3} {
			if got, err := r.readIndex(data[:n]); err == nil {
				t.Errorf("%d of %d bytes are an index: %q", n, len(data), got.Links)
			}
		}
	}
}

func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// What git accepts and no one writes.
func TestOddIndexes(t *testing.T) {
	r := newGitRepo(t, "sha1")
	r.fill(t, "pkg/evil")
	plain, err := os.ReadFile(r.path("index"))
	if err != nil {
		t.Fatal(err)
	}
	body := plain[:len(plain)-20]
	at := bytes.Index(body, []byte("pkg/evil")) - 62
	changed := func(off int, with ...byte) []byte {
		out := slices.Clone(plain)
		copy(out[off:], with)
		return out
	}
	extension := func(name string, content []byte) []byte {
		return slices.Concat(body, []byte(name), be32(uint32(len(content))), content, plain[len(plain)-20:])
	}
	long := newGitRepo(t, "sha1")
	long.fill(t, "pkg/evil", strings.Repeat("a", 5000), "b/"+strings.Repeat("c", 4094))
	longIndex, err := os.ReadFile(long.path("index"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		repo gitRepo
		data []byte
		git  bool
		want []string // nil when it is unread
	}{
		{"plain", r, plain, true, []string{"pkg/evil"}},
		{"bytes behind", r, append(slices.Clone(plain), 1, 2, 3, 4, 5, 6, 7), true, []string{"pkg/evil"}},
		{"other bits of the mode", r, changed(at+24, be32(0o160755)...), true, []string{"pkg/evil"}},
		{"high bits of the mode", r, changed(at+24, be32(0xfffe0000|0o160644)...), true, []string{"pkg/evil"}},
		{"long names", long, longIndex, true, []string{strings.Repeat("a", 5000), "b/" + strings.Repeat("c", 4094),
			"pkg/evil"}},
		{"a large extension", r, extension("ABCD", make([]byte, 68<<20)), true, []string{"pkg/evil"}},
		{"an extension behind the end", r, slices.Concat(body, []byte("ABCD"), be32(1<<31), plain[len(plain)-20:]),
			true, []string{"pkg/evil"}},
		{"an extension that has to be known", r, extension("abcd", nil), false, nil},
		{"no checksum", r, append(slices.Clone(body), make([]byte, 20)...), true, []string{"pkg/evil"}},
		{"no version", r, changed(4, be32(5)...), false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.repo.readIndex(tt.data)
			if tt.want == nil != (err != nil) || err == nil && !slices.Equal(got.Links, tt.want) {
				t.Errorf("%v, %v", got, err)
			}
			if tt.repo.same(t, tt.data, 1) != tt.git {
				t.Errorf("git takes it: %v", !tt.git)
			}
		})
	}
}

// A large index is read by several threads, each from a place that the index
// names. What lies there must be what lies in the way of one that reads in order.
func TestIndexReadTwoWays(t *testing.T) {
	entry := func(mode uint32, name string) []byte {
		e := make([]byte, 40, 128)
		copy(e[24:], be32(mode))
		e = append(e, bytes.Repeat([]byte{0x11}, 20)...)
		e = append(append(e, 0, byte(len(name))), name...)
		return append(e, make([]byte, 8-len(e)%8)...)
	}
	one, two := entry(0o100644, "aaaaaaaa"), entry(0o100644, "bbbbbbbb")
	evil := entry(0o160000, "bbbbbbbb")
	index := slices.Concat([]byte("DIRC"), be32(2), be32(2), one, two)
	end := uint32(len(index))
	index = slices.Concat(index, []byte("HIDE"), be32(uint32(len(evil))), evil)
	offsets := slices.Concat(be32(1), be32(12), be32(1), be32(end+8), be32(1))
	index = slices.Concat(index, []byte("IEOT"), be32(uint32(len(offsets))), offsets)
	sum := sha1.Sum(slices.Concat([]byte("HIDE"), be32(uint32(len(evil))), []byte("IEOT"), be32(uint32(len(offsets)))))
	index = slices.Concat(index, []byte("EOIE"), be32(24), be32(end), sum[:], make([]byte, 20))
	r := newGitRepo(t, "sha1")
	if err := os.WriteFile(r.path("index"), index, 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(threads string) string { return r.must(t, "-c", "index.threads="+threads, "ls-files", "-s") }
	if a, b := list("1"), list("3"); strings.Contains(a, "160000") || !strings.Contains(b, "160000") {
		t.Fatalf("git does not read it in two ways:\n%s\n%s", a, b)
	}
	if got, err := r.readIndex(index); err == nil {
		t.Errorf("it is no error: %q", got.Links)
	}
}

// mutate changes a text as an attacker or an accident would.
func mutate(r *rand.Rand, data []byte, words []string) []byte {
	out := slices.Clone(data)
	at := func() int { return r.IntN(len(out) + 1) }
	for range 1 + r.IntN(4) {
		if len(out) == 0 {
			break
		}
		i := r.IntN(len(out))
		switch r.IntN(8) {
		case 0, 1:
			out[i] ^= 1 << r.IntN(8)
		case 2:
			out[i] = byte(r.IntN(256))
		case 3:
			out = out[:at()]
		case 4:
			out = append(out, make([]byte, r.IntN(9))...)
		case 5:
			j := at()
			out = slices.Insert(out, j, out[i:min(len(out), i+r.IntN(80))]...)
		case 6:
			w := words[r.IntN(len(words))]
			copy(out[i:], w)
		case 7:
			out = slices.Insert(out, at(), []byte(words[r.IntN(len(words))])...)
		}
	}
	return out
}

// indexWords are what means something in an index.
var indexWords = func() []string {
	out := []string{"DIRC", "TREE", "link", "sdir", "EOIE\x00\x00\x00\x18", "IEOT", "ABCD\x00\x00\x00\x04abcd",
		"ABCD\xff\xff\xff\xff", "\x00", "\x80\x00", "\x0f\xff", "\x40\x00", "\x20\x00"}
	for _, mode := range []uint32{0o160000, 0o160755, 0o100644, 0o120000, 0o040000, 2, 3, 4, 12, 1 << 31} {
		out = append(out, string(be32(mode)))
	}
	return out
}()

// aimed changes what matters in an index: the fixed part of an entry, its
// header, the extensions.
func aimed(r *rand.Rand, data []byte, hash int) []byte {
	out := slices.Clone(data)
	switch r.IntN(4) {
	case 0: // an extension before the checksum
		i := max(0, len(out)-hash)
		ext := slices.Concat([]byte(indexWords[r.IntN(3)+4][:4]), be32(uint32(r.IntN(40))), make([]byte, r.IntN(40)))
		return slices.Insert(out, i, ext...)
	case 1, 2: // the kind, flags or name of an entry
		if i := bytes.Index(out, []byte{0, 0, 0x81, 0xa4}); i >= 0 {
			// any entry that is a file
			for range r.IntN(20) {
				if j := bytes.Index(out[i+4:], []byte{0, 0, 0x81, 0xa4}); j >= 0 {
					i += 4 + j
				}
			}
			switch r.IntN(3) {
			case 0:
				copy(out[i:], be32(0o160000|uint32(r.IntN(0o10000))))
			case 1:
				copy(out[min(len(out), i+16+hash):], []byte{byte(r.IntN(256)), byte(r.IntN(256))})
			case 2:
				copy(out[i:], be32(0o160000))
				copy(out[min(len(out), i+16+hash):], []byte{byte(r.IntN(8)) << 4, byte(r.IntN(64))})
			}
		}
		return out
	}
	copy(out[4:], be32(uint32(r.IntN(4)+1)))
	return out
}

// Whenever git takes an index, we read the same repositories in it or say that
// we cannot read it.
func TestIndexAsGit(t *testing.T) {
	repos := indexes(t)
	var seeds [][]byte
	for _, r := range repos {
		data, err := os.ReadFile(r.path("index"))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	tried, taken := 0, 0
	for end := time.Now().Add(compareFor(t)); time.Now().Before(end); tried++ {
		i := r.IntN(len(seeds))
		data := seeds[i]
		if r.IntN(2) == 0 {
			data = aimed(r, data, repos[i].hash)
		} else {
			data = mutate(r, data, indexWords)
		}
		if repos[i].same(t, data, 1+2*r.IntN(2)) {
			taken++
		}
	}
	t.Logf("%d indexes, %d of them taken by git", tried, taken)
	if taken == 0 {
		t.Error("git took none")
	}
}

func FuzzIndex(f *testing.F) {
	repos := indexes(f)
	for i, r := range repos {
		data, err := os.ReadFile(r.path("index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i), uint8(1))
		f.Add(data, uint8(i), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, which, threads uint8) {
		repos[int(which)%len(repos)].same(t, data, 1+int(threads%4))
	})
}

// sameConfig compares the settings that git reads in a repository with ours. It
// reports whether git took the file.
func (r gitRepo) sameConfig(t testing.TB, data []byte) bool {
	t.Helper()
	if err := os.WriteFile(r.path("config"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := r.git("", "config", "-l", "-z", "--show-origin")
	if err != nil {
		return false
	}
	var want []string
	included := false
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "file:.git/config" {
			included = included || !strings.HasPrefix(fields[i], "command line")
			continue
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		want = append(want, key+"="+value)
	}
	if len(want) == 0 {
		return false // it takes the directory for none of its own then
	}
	var got []string
	includes := false
	err = Each(data, func(s Setting) {
		includes = includes || s.Name() == "include.path" || s.Name() == "includeif.path"
		got = append(got, s.Full()+"="+s.Value)
	})
	if err != nil || !slices.Equal(got, want) || included && !includes {
		t.Fatalf("%v: git reads %q (from elsewhere: %v), we read %q in\n%q", err, want, included, got, data)
	}
	return true
}

var configWords = []string{
	"[core]\n", "[core \"x\"]\n", "[a.b]", "[", "]", "\"", "\\", "\n", "\r", "\r\n", "\x00", "\xef\xbb\xbf", "#", ";",
	"=", " ", "\t", "\v", "\f", ".", "-", "\\\n", "\\\"",
	"fsmonitor = ./x\n", "fsmonitor=\x00y\n", "hookspath=h", "[include]\npath = inc\n",
	"[includeIf \"gitdir:/\"]\npath=inc\n", "[ \"x\"]", "[core \"fsmonitor\x00\"]\n", "# \x00\n",
	"[alias]\nx = \"!a ; b\"\n", "true", "\\t", "[.]", "[-]\n",
}

const configSeed = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
[remote "origin"]
	url = https://example.org/a.git ; where
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "a \"b\" \\c"]
	remote = origin
	merge = "refs/heads/" main # one
[alias]
	l = log \
		--oneline
[filter "x.y"]
	clean = "x\t%f"
[include]
	path = inc
`

func configRepo(t testing.TB) gitRepo {
	t.Helper()
	r := newGitRepo(t, "sha1")
	if err := os.WriteFile(r.path("inc"), []byte("[core]\n\tpager = less\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConfigAsGit(t *testing.T) {
	repo := configRepo(t)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	if !repo.sameConfig(t, []byte(configSeed)) {
		t.Fatal("git does not take the seed")
	}
	tried, taken := 0, 0
	for end := time.Now().Add(compareFor(t)); time.Now().Before(end); tried++ {
		if repo.sameConfig(t, mutate(r, []byte(configSeed), configWords)) {
			taken++
		}
	}
	t.Logf("%d config files, %d of them taken by git", tried, taken)
	if taken == 0 {
		t.Error("git took none")
	}
}

func FuzzConfig(f *testing.F) {
	repo := configRepo(f)
	f.Add([]byte(configSeed))
	for _, w := range configWords {
		f.Add([]byte(w + configSeed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { repo.sameConfig(t, data) })
}
