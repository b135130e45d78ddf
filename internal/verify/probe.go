package verify

// probeName is the first argument by which sbx knows that it is to be the
// probe, or one of the processes that a verification needs beside it.
const probeName = "--probe-of-sandbox"

// What follows it.
const (
	wordAnswer = "answer" // read questions from standard input; inside only
	wordIdle   = "idle"   // wait, and tell of signals
)

// ProbeWords are the arguments that make sbx the probe.
func ProbeWords() []string { return []string{probeName, wordAnswer} }

// IsProbe reports whether the arguments after the program's name are those of
// the probe.
func IsProbe(args []string) bool { return len(args) > 1 && args[0] == probeName }
