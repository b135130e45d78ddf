package stage

// seccompNr is seccomp(2).
const seccompNr = 317

// statxNr is statx(2).
const statxNr = 332
