package verify

// Verdict is what became of a check.
type Verdict uint8

const (
	// Unchecked is a check that could not be made; it counts as a failure.
	Unchecked Verdict = iota
	// Hole is an act that the policy refuses and that could be done.
	Hole
	// Proved is an act that was tried and refused.
	Proved
	// Allowed is an act that the policy lets through: stated, no failure.
	Allowed
	// NotApplicable is a check about something that this host does not have.
	NotApplicable
	// Gap is an act that tier full refuses and that could be done, as the plan of
	// a lesser tier says itself: stated, no failure, and never taken for proved.
	Gap
)

var verdictNames = [...]string{"unchecked", "hole", "proved", "allowed", "not applicable", "gap"}

// String returns the lower-case name.
func (v Verdict) String() string { return verdictNames[v] }

// Result is a check with its verdict.
type Result struct {
	Section string
	Name    string // the act, in a few words
	Subject string // path, address or name it is about, byte for byte; may be empty
	Verdict Verdict
	Detail  string // what was seen, one line
	Control string // how it is known that the act is possible; "" when there is no need
}

// Report is a whole verification.
type Report struct {
	Profiles []string
	Place    string // the working directory
	Inside   bool   // made from inside the sandbox that it is about
	Results  []Result
}

// Count returns how many results have a verdict.
func (r *Report) Count(v Verdict) int { return count(r.Results, v) }

func count(results []Result, v Verdict) int {
	n := 0
	for i := range results {
		if results[i].Verdict == v {
			n++
		}
	}
	return n
}

// OK reports whether everything that had to be proved was.
func (r *Report) OK() bool {
	return r.Count(Hole) == 0 && r.Count(Unchecked) == 0 && r.Count(Proved) > 0
}

// section is the results of one section, in order.
type section struct {
	name    string
	results []Result
}

// sections groups the results in the order in which sections appear.
func (r *Report) sections() []section {
	var out []section
	at := make(map[string]int)
	for _, res := range r.Results {
		i, ok := at[res.Section]
		if !ok {
			i = len(out)
			at[res.Section] = i
			out = append(out, section{name: res.Section})
		}
		out[i].results = append(out[i].results, res)
	}
	return out
}
