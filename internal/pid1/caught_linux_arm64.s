// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// onSignal is a signal handler: it notes a signal that came from outside, by
// its number, in ·caught; with ·anyone, one from whomever. It runs on whichever of the runtime's threads the
// kernel picks, and touches nothing else of this program. It returns to the
// kernel's own code.
TEXT ·onSignal(SB), NOSPLIT|NOFRAME, $0
	MOVWU ·anyone(SB), R2
	CBNZ  R2, note
	MOVWU 16(R1), R2 // si_pid: 0 is outside
	CBNZ  R2, done
	MOVW  8(R1), R2  // si_code: below 0 the sender has written all that
	CMPW  $0, R2
	BLT   done
note:
	SUB   $1, R0, R0
	MOVD  $1, R2
	LSL   R0, R2, R2
	MOVD  $·caught(SB), R1
again:
	LDAXR (R1), R3
	ORR   R2, R3, R3
	STLXR R3, (R1), R4
	CBNZ  R4, again
done:
	RET

// func handler() (onSignal, signalReturn uintptr)
TEXT ·handler(SB), NOSPLIT, $0-16
	MOVD $·onSignal(SB), R0
	MOVD R0, onSignal+0(FP)
	MOVD ZR, signalReturn+8(FP)
	RET
