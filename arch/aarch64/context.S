// SPDX-License-Identifier: Apache-2.0
// AArch64: fork, suspend, enter, leave (AAPCS64). See arch/context.hpp for what each promises.
//
// Saved frame, from the saved stack pointer up:
//    0 handle   8 record   16 die_record   24 finish   32 x19..x28   112 x29 x30   128 d8..d15
// hot_state:   0 bottom   8 split_sp   16 doorbell   24 scheduler_sp   32 suspended_sp

#define FRAME 192

	.text

	.macro save_registers
	sub	sp, sp, #FRAME
	.cfi_adjust_cfa_offset FRAME
	stp	x19, x20, [sp, #32]
	.cfi_rel_offset x19, 32
	.cfi_rel_offset x20, 40
	stp	x21, x22, [sp, #48]
	.cfi_rel_offset x21, 48
	.cfi_rel_offset x22, 56
	stp	x23, x24, [sp, #64]
	.cfi_rel_offset x23, 64
	.cfi_rel_offset x24, 72
	stp	x25, x26, [sp, #80]
	.cfi_rel_offset x25, 80
	.cfi_rel_offset x26, 88
	stp	x27, x28, [sp, #96]
	.cfi_rel_offset x27, 96
	.cfi_rel_offset x28, 104
	stp	x29, x30, [sp, #112]
	.cfi_rel_offset x29, 112
	.cfi_rel_offset x30, 120
	stp	d8, d9, [sp, #128]
	.cfi_rel_offset d8, 128
	.cfi_rel_offset d9, 136
	stp	d10, d11, [sp, #144]
	.cfi_rel_offset d10, 144
	.cfi_rel_offset d11, 152
	stp	d12, d13, [sp, #160]
	.cfi_rel_offset d12, 160
	.cfi_rel_offset d13, 168
	stp	d14, d15, [sp, #176]
	.cfi_rel_offset d14, 176
	.cfi_rel_offset d15, 184
	.endm

	.macro hot_address register
	adrp	\register, tobi_hot
	add	\register, \register, :lo12:tobi_hot
	.endm

// registers2 tobi_fork(w0, handle* h, const task_type* type, w1, w2, w3), x0 and x3 to x5 being the closure: see the x86-64 file for the argument. x19 holds
// our deque slot while the child runs. No ordering instruction: who else reads the slot and `bottom` makes this core pass a barrier
// first (deque/steal_word.cc), and the doorbell is a hint.
//
// A child that was moved returns here too, and x19 is another process's then: the first comparison finds that. The second one, behind
// the store of `bottom`, is for the split that somebody else may raise meanwhile.
	.globl	tobi_fork
	.type	tobi_fork, %function
	.p2align 6
tobi_fork:
	.cfi_startproc
	hint	#34			// bti c: a landing pad, for calls by way of the procedure linkage table
	save_registers
	str	x1, [sp]
	hot_address x9
	ldr	x19, [x9]
	ldr	x11, [x9, #16]
	mov	x10, sp
	str	x10, [x19]
	add	x10, x19, #8
	str	x10, [x9]
	ldr	x11, [x11]
	cbnz	x11, .Lfork_slow
.Lcall_child:
	ldr	x9, [x2]
	blr	x9
	hot_address x9
	ldr	x10, [x9, #8]
	mov	x11, sp
	cmp	x11, x10
	b.hs	.Lreturn_slow
	str	x19, [x9]
	ldr	x10, [x9, #8]
	cmp	x11, x10
	b.hs	.Lreturn_lowered
.Lreturn:
	ldr	x19, [sp, #32]
	ldp	x29, x30, [sp, #112]
	.cfi_remember_state
	.cfi_restore x19
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #FRAME
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_restore_state

.Lfork_slow:
	mov	x9, sp
	sub	sp, sp, #48
	.cfi_adjust_cfa_offset 48
	stp	x0, x3, [sp]
	stp	x4, x5, [sp, #16]
	str	x2, [sp, #32]
	mov	x0, x9
	mov	x1, sp
	bl	tobi_on_fork
	ldp	x0, x3, [sp]
	ldp	x4, x5, [sp, #16]
	ldr	x2, [sp, #32]
	add	sp, sp, #48
	.cfi_adjust_cfa_offset -48
	b	.Lcall_child

.Lreturn_lowered:
	add	x10, x19, #8
	str	x10, [x9]
.Lreturn_slow:
	stp	x0, x1, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	mov	x2, x1
	mov	x1, x0
	add	x0, sp, #16
	bl	tobi_on_return
	ldp	x0, x1, [sp], #16
	.cfi_adjust_cfa_offset -16
	b	.Lreturn
	.cfi_endproc
	.size	tobi_fork, .-tobi_fork

	.macro save_scheduler
	save_registers
	hot_address x9
	mov	x10, sp
	str	x10, [x9, #24]
	.endm

	.macro restore_and_return
	ldp	x19, x20, [sp, #32]
	ldp	x21, x22, [sp, #48]
	ldp	x23, x24, [sp, #64]
	ldp	x25, x26, [sp, #80]
	ldp	x27, x28, [sp, #96]
	ldp	x29, x30, [sp, #112]
	ldp	d8, d9, [sp, #128]
	ldp	d10, d11, [sp, #144]
	ldp	d12, d13, [sp, #160]
	ldp	d14, d15, [sp, #176]
	add	sp, sp, #FRAME
	ret
	.endm

	.macro hidden_function name
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.endm

	hidden_function tobi_enter
	.cfi_startproc
	save_scheduler
	mov	sp, x0
	restore_and_return
	.cfi_endproc
	.size	tobi_enter, .-tobi_enter

	hidden_function tobi_enter_child
	.cfi_startproc
	save_scheduler
	mov	sp, x0
	ldp	x0, x3, [x1]
	ldp	x4, x5, [x1, #16]
	b	.Lcall_child
	.cfi_endproc
	.size	tobi_enter_child, .-tobi_enter_child

	hidden_function tobi_enter_root
	.cfi_startproc
	save_scheduler
	mov	sp, x0
	mov	x0, x2
	.cfi_undefined x30
	mov	x29, xzr
	blr	x1
	brk	#1
	.cfi_endproc
	.size	tobi_enter_root, .-tobi_enter_root

	hidden_function tobi_suspend
	.cfi_startproc
	save_registers
	hot_address x9
	mov	x10, sp
	str	x10, [x9, #32]
	b	tobi_leave
	.cfi_endproc
	.size	tobi_suspend, .-tobi_suspend

	hidden_function tobi_leave
	.cfi_startproc
	hot_address x9
	ldr	x10, [x9, #24]
	mov	sp, x10
	restore_and_return
	.cfi_endproc
	.size	tobi_leave, .-tobi_leave

	.section .note.GNU-stack, "", %progbits

// What is linked with this may ask for landing pads (BTI): nothing here is jumped to but tobi_fork. Without the note the linker would
// take the protection from the whole program.
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0		// GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
