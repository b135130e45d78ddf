package stage

// seccompNr is seccomp(2).
const seccompNr = 317

// statxNr is statx(2).
const statxNr = 332

// memfdCreate is memfd_create(2).
const memfdCreate = 319
