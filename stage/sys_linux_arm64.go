package stage

// seccompNr is seccomp(2).
const seccompNr = 277

// statxNr is statx(2).
const statxNr = 291
