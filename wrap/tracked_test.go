package wrap

import "testing"

func TestStages(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    bool
	}{
		{[]string{"git", "commit", "-am", "x"}, true},
		{[]string{"/usr/bin/git", "add", "-A"}, true},
		{[]string{"git", "stash"}, true},
		{[]string{"sh", "-c", "true&&git commit -am z"}, true},
		{[]string{"sh", "-c", `"git" add :`}, true},
		{[]string{"git", "diff"}, false},
		{[]string{"git", "status", "-s"}, false},
		{[]string{"ls", "commit"}, false},
		{nil, false},
	} {
		if got := stages(tt.command); got != tt.want {
			t.Errorf("stages(%q) = %v", tt.command, got)
		}
	}
}
