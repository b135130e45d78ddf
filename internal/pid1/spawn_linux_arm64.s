// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func run(flags uintptr, steps *step, n uintptr) (pid, errno uintptr)
//
// The new process shares this one's memory, its stack too: it must not write to
// the stack.
TEXT ·run(SB), NOSPLIT, $0-40
	MOVD flags+0(FP), R0
	MOVD steps+8(FP), R19
	MOVD n+16(FP), R20
	MOVD $0, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $220, R8    // clone
	SVC
	CBZ  R0, next
	CMN  $4095, R0
	BCS  failed
	MOVD R0, pid+24(FP)
	MOVD ZR, errno+32(FP)
	RET

failed:
	NEG  R0, R0
	MOVD ZR, pid+24(FP)
	MOVD R0, errno+32(FP)
	RET

next:
	MOVD 0(R19), R8
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	SVC
	MOVD R0, 56(R19)
	CMN  $4095, R0
	BCS  end
	MOVD 64(R19), R6
	CBZ  R6, on
	SUB  $1, R6
	CMP  R6, R0
	BEQ  end

on:
	ADD  $72, R19
	SUBS $1, R20, R20
	BNE  next

end:
	MOVD $127, R0
	MOVD $94, R8 // exit_group
	SVC
	MOVD $127, R0
	MOVD $93, R8 // exit
	SVC
	BRK          // a filter refused both
	B    end

// sbx_plain is what machine_linux_amd64.s has under runtime.
TEXT sbx_plain(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVD $30, R0 // PR_GET_TIMERSLACK
	MOVD $167, R8 // prctl
	SVC
	CMP  $0, R0
	BLE  start
	MOVD R0, ·slack(SB)
	MOVD $29, R0 // PR_SET_TIMERSLACK
	MOVD $1000000, R1
	MOVD $167, R8
	SVC

start:
	B    _rt0_arm64_linux(SB)
