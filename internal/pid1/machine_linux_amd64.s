// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// The machine of machine_linux.go and plain_linux.go. It uses neither the stack nor anything of Go's, and goes
// to Go's start with the stack pointer as the kernel gave it.
#define BASE 0x1000000000
#define SIZE 262144

// sbx_plain goes on with the start of the process: as process 1 with a program by that,
// as any other, and when the program comes to no good, by Go.
TEXT sbx_plain(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVB $1, ·entered(SB)
	CMPQ 0(SP), $4           // sbx, InitName, a number, the command
	JLT  runtime
	MOVQ 16(SP), AX
	MOVQ $0x2d65676174732d2d, CX // "--stage-"
	CMPQ CX, 0(AX)
	JNE  runtime
	MOVQ $0x62646e61732d666f, CX // "of-sandb"
	CMPQ CX, 8(AX)
	JNE  runtime
	MOVL 15(AX), CX              // "box", NUL
	CMPL CX, $0x00786f62
	JNE  runtime
	MOVL $39, AX             // getpid
	SYSCALL
	CMPQ AX, $1
	JNE  runtime
	MOVQ 24(SP), CX
	XORL R8, R8

digit:
	MOVBLZX (CX), AX
	SUBL $48, AX
	JCS  map
	CMPL AX, $9
	JHI  runtime
	IMUL3L $10, R8, R8
	ADDL AX, R8
	INCQ CX
	JMP  digit

map:
	MOVQ $BASE, DI
	MOVL $SIZE, SI
	MOVL $3, DX              // PROT_READ, PROT_WRITE
	MOVL $0x108002, R10      // MAP_PRIVATE, MAP_POPULATE, MAP_FIXED_NOREPLACE
	XORL R9, R9
	MOVL $9, AX              // mmap
	SYSCALL
	MOVQ $BASE, BX
	CMPQ AX, BX
	JNE  runtime
	MOVQ $0x31656e69616c7073, CX
	CMPQ CX, 0(BX)
	JNE  runtime
	MOVQ BX, ·mapped(SB)
	MOVQ 16(BX), R8          // the op that executes: its words and environment
	LEAQ 32(SP), AX
	MOVQ AX, 16(R8)
	MOVQ 0(SP), CX
	LEAQ 16(SP)(CX*8), AX
	MOVQ AX, 24(R8)
	MOVQ 24(BX), R8          // and the handler
	LEAQ ·onSignal(SB), AX
	MOVQ AX, 0(R8)
	LEAQ ·signalReturn(SB), AX
	MOVQ AX, 16(R8)
	MOVQ 8(BX), R12

op:
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	CMPQ AX, $-1
	JEQ  judge
	CMPQ AX, $-2
	JEQ  find
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	SYSCALL
	MOVQ AX, 56(R12)

judge:
	MOVQ 64(R12), BX
	MOVQ (BX), CX
	ANDQ 72(R12), CX
	MOVQ 88(R12), DX
	TESTQ DX, DX
	JZ   compare
	MOVQ CX, (DX)

compare:
	MOVQ 96(R12), DX
	CMPQ CX, 80(R12)
	JEQ  on
	MOVQ 104(R12), DX

on:
	MOVQ DX, R12
	TESTQ R12, R12
	JNZ  op

	// In doubt, or with the command running. Then the runtime is to leave signals alone.
	MOVQ $BASE, BX
	MOVQ 32(BX), AX
	TESTQ AX, AX
	JZ   resume
	LEAQ ·leaveSignals(SB), AX
	MOVQ AX, _cgo_sigaction(SB)
	JMP  resume

runtime:
	// By how much later the runtime's threads may wake: see slack in run_linux.go.
	MOVL $30, DI             // PR_GET_TIMERSLACK
	MOVL $157, AX            // prctl
	SYSCALL
	TESTQ AX, AX
	JLE  resume              // a realtime process has none
	MOVQ AX, ·slack(SB)
	MOVL $29, DI             // PR_SET_TIMERSLACK
	MOVL $1000000, SI
	MOVL $157, AX
	SYSCALL

resume:
	JMP  _rt0_amd64_linux(SB)

find:
	MOVQ $0, 56(R12)
	ADDQ DI, SI

scan:
	CMPQ DX, (DI)
	JEQ  found
	INCQ DI
	CMPQ DI, SI
	JCS  scan
	JMP  judge

found:
	MOVQ 8(DI), AX
	MOVQ AX, 32(R12)
	MOVQ 16(DI), AX
	MOVQ AX, 40(R12)
	MOVQ 24(DI), AX
	MOVQ AX, 48(R12)
	MOVQ $1, 56(R12)
	JMP  judge

// leaveSignals is what the runtime calls for sigaction(2), as it does where C has a say in
// it: nothing is changed, and to see how it is, EINVAL has the runtime ask by itself.
TEXT ·leaveSignals(SB), NOSPLIT|NOFRAME, $0
	XORL AX, AX
	TESTQ SI, SI             // the new one
	JNZ  done
	MOVL $22, AX

done:
	RET
