package stage

// seccompNr is seccomp(2).
const seccompNr = 317
