// SPDX-License-Identifier: Apache-2.0
// The start of a program whose every page has landing pads (BTI): those of the cross compiler have none.
	.globl _start
	.type _start, %function
_start:	hint #34
	mov x5, x0
	ldr x1, [sp]
	add x2, sp, #8
	mov x6, sp
	mov x3, xzr
	mov x4, xzr
	adrp x0, main
	add x0, x0, :lo12:main
	bl __libc_start_main
	brk #1
	.section .note.GNU-stack, "", %progbits
	.data
	.hidden __dso_handle
	.globl __dso_handle
__dso_handle: .xword 0
