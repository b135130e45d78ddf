// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// See start_linux_amd64.s.
#define DATA_LEAST 81920000
#define AS_LEAST   1331200000

TEXT sbx_start(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	SUB  $16, RSP
	MOVD $2, R1 // RLIMIT_DATA
	BL   sbx_limit(SB)
	MOVD $DATA_LEAST, R5
	CMP  R5, R0
	BLO  low
	MOVD $9, R1 // RLIMIT_AS
	BL   sbx_limit(SB)
	MOVD $AS_LEAST, R5
	CMP  R5, R0
	BLO  low
	ADD  $16, RSP
	MOVD $1, R0
	MOVD $1, R1  // F_GETFD
	MOVD $25, R8 // fcntl
	SVC
	CMN  $9, R0  // EBADF
	CSET EQ, R1
	MOVB R1, ·outClosed(SB)
	B    sbx_plain(SB)

low:
	MOVD $2, R0
	MOVD $·tooLow(SB), R1
	MOVD $131, R2
	MOVD $64, R8 // write
	SVC
	MOVD $125, R0
	MOVD $94, R8 // exit_group
	SVC
	BRK

// sbx_limit gives the soft limit R1 in R0.
TEXT sbx_limit(SB), NOSPLIT|NOFRAME, $0
	MOVD $0, R0
	MOVD $0, R2
	MOVD RSP, R3
	MOVD $-1, R4
	MOVD R4, 0(RSP)
	MOVD $261, R8 // prlimit64
	SVC
	MOVD 0(RSP), R0
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
