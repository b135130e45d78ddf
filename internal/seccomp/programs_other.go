package seccomp

func assembled(Options) string { return "" }
