// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// onSignal is a signal handler: it notes a signal that came from outside, by
// its number, in ·caught; with ·anyone, one from whomever. It runs on whichever of the runtime's threads the
// kernel picks, and touches nothing else of this program.
TEXT ·onSignal(SB), NOSPLIT|NOFRAME, $0
	MOVL ·anyone(SB), AX
	TESTL AX, AX
	JNZ  note
	MOVL 16(SI), AX // si_pid: 0 is outside
	TESTL AX, AX
	JNZ  done
	MOVL 8(SI), AX  // si_code: below 0 the sender has written all that
	TESTL AX, AX
	JLT  done

note:
	MOVL DI, CX
	DECL CX
	MOVL $1, AX
	SHLQ CX, AX
	LOCK
	ORQ  AX, ·caught(SB)

done:
	RET

// signalReturn is where a handler returns to.
TEXT ·signalReturn(SB), NOSPLIT|NOFRAME, $0
	MOVL $15, AX // rt_sigreturn
	SYSCALL
	INT  $3

// func handler() (onSignal, signalReturn uintptr)
TEXT ·handler(SB), NOSPLIT, $0-16
	LEAQ ·onSignal(SB), AX
	MOVQ AX, onSignal+0(FP)
	LEAQ ·signalReturn(SB), AX
	MOVQ AX, signalReturn+8(FP)
	RET
