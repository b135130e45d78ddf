// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// The Go runtime reserves some 1.2 GB of address space before any code of the
// program's own runs, and where a limit forbids that it ends with a trace and
// status 2. So the linker is told to begin here (-E sbx_start, see the Makefile):
// it looks at the limits and says in a line what is wrong. Built without that
// option, all is as it was.
#define DATA_LEAST 81920000   // bytes; ulimit -d 80000
#define AS_LEAST   1331200000 // bytes; ulimit -v 1300000

TEXT sbx_start(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	SUBQ $16, SP   // struct rlimit
	MOVL $2, SI    // RLIMIT_DATA
	CALL sbx_limit(SB)
	CMPQ AX, $DATA_LEAST
	JCS  low
	MOVL $9, SI    // RLIMIT_AS
	CALL sbx_limit(SB)
	CMPQ AX, $AS_LEAST
	JCS  low
	ADDQ $16, SP
	// The runtime opens /dev/null for a standard output that is closed.
	MOVL $1, DI
	MOVL $1, SI    // F_GETFD
	MOVL $72, AX   // fcntl
	SYSCALL
	CMPQ AX, $-9   // EBADF
	SETEQ ·outClosed(SB)
	JMP  sbx_plain(SB)

low:
	MOVL $2, DI
	LEAQ ·tooLow(SB), SI
	MOVL $131, DX
	MOVL $1, AX    // write
	SYSCALL
	MOVL $125, DI
	MOVL $231, AX  // exit_group
	SYSCALL
	INT  $3

// sbx_limit gives the soft limit SI in AX. The struct is above the return
// address.
TEXT sbx_limit(SB), NOSPLIT|NOFRAME, $0
	MOVL $0, DI
	MOVL $0, DX
	LEAQ 8(SP), R10
	MOVQ $-1, R9
	MOVQ R9, 0(R10)
	MOVL $302, AX  // prlimit64
	SYSCALL
	MOVQ 8(SP), AX
	RET

// What is said: 131 bytes.
DATA ·tooLow+0(SB)/8, $"sbx: err"
DATA ·tooLow+8(SB)/8, $"or: Fail"
DATA ·tooLow+16(SB)/8, $"ed to in"
DATA ·tooLow+24(SB)/8, $"itialize"
DATA ·tooLow+32(SB)/8, $" sandbox"
DATA ·tooLow+40(SB)/8, $": the li"
DATA ·tooLow+48(SB)/8, $"mit on m"
DATA ·tooLow+56(SB)/8, $"emory is"
DATA ·tooLow+64(SB)/8, $" too low"
DATA ·tooLow+72(SB)/8, $" for sbx"
DATA ·tooLow+80(SB)/8, $": ulimit"
DATA ·tooLow+88(SB)/8, $" -v 1300"
DATA ·tooLow+96(SB)/8, $"000 and "
DATA ·tooLow+104(SB)/8, $"ulimit -"
DATA ·tooLow+112(SB)/8, $"d 80000 "
DATA ·tooLow+120(SB)/8, $"are enou"
DATA ·tooLow+128(SB)/8, $"gh\n\x00\x00\x00\x00\x00"
GLOBL ·tooLow(SB), RODATA|NOPTR, $136
