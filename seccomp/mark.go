package seccomp

// MarkOption and Mark are the option of prctl(2) that a filter with
// Options.Host answers, and the errno it answers with.
const (
	MarkOption = 0x53425821 // "SBX!"
	Mark       = 1464
)
