package tripwire

// maxCells bounds the table of a diff; beyond it everything counts as new.
const maxCells = 1 << 20

// around is how many equal lines are shown next to different ones.
const around = 2

// diff lists the lines of b as they differ from a: "+ ", "- ", or "  " before
// equal ones next to those. A longest common subsequence decides.
func diff(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []string
	for _, line := range a[:head] {
		all = append(all, "  "+line)
	}
	all = append(all, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		all = append(all, "  "+line)
	}
	return nearby(all)
}

// middle compares what is left when the ends are the same.
func middle(a, b []string) []string {
	var out []string
	i, j := 0, 0
	if len(a)*len(b) <= maxCells {
		length := common(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out, i, j = append(out, "  "+a[i]), i+1, j+1
			case length[i+1][j] >= length[i][j+1]:
				out, i = append(out, "- "+a[i]), i+1
			default:
				out, j = append(out, "+ "+b[j]), j+1
			}
		}
	}
	for ; i < len(a); i++ {
		out = append(out, "- "+a[i])
	}
	for ; j < len(b); j++ {
		out = append(out, "+ "+b[j])
	}
	return out
}

// common is how many lines a[i:] and b[j:] have in common, in order.
func common(a, b []string) [][]int32 {
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
}

// nearby leaves out equal lines that are far from different ones.
func nearby(all []string) []string {
	var out []string
	skipped := false
	for i := range all {
		near := false
		for k := max(i-around, 0); k <= min(i+around, len(all)-1); k++ {
			near = near || all[k][0] != ' '
		}
		switch {
		case near:
			out, skipped = append(out, all[i]), false
		case !skipped:
			out, skipped = append(out, "  …"), true
		}
	}
	return out
}
