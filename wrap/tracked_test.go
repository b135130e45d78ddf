package wrap

import "testing"

func TestTakesAll(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    bool
	}{
		{[]string{"git", "commit", "-a", "-m", "x"}, true},
		{[]string{"git", "commit", "-qam", "x"}, true},
		{[]string{"git", "-C", "sub", "commit", "--all"}, true},
		{[]string{"/usr/bin/git", "add", "-A"}, true},
		{[]string{"git", "add", "."}, true},
		{[]string{"git", "stash"}, true},
		{[]string{"sh", "-c", "make && git add -A && git commit -m x"}, true},
		{[]string{"git", "commit", "-m", "a"}, false},
		{[]string{"git", "commit", "--amend"}, false},
		{[]string{"git", "add", "a"}, false},
		{[]string{"git", "diff", "-a"}, false},
		{[]string{"git", "status"}, false},
		{[]string{"sh", "-c", "git status; ls -a"}, false},
		{[]string{"ls", "-a", "commit"}, false},
		{nil, false},
	} {
		if got := takesAll(tt.command); got != tt.want {
			t.Errorf("takesAll(%q) = %v", tt.command, got)
		}
	}
}
