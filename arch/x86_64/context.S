// SPDX-License-Identifier: Apache-2.0
// x86-64: fork, suspend, enter, leave (System V ABI). See arch/context.hpp for what each promises.
//
// Saved frame, from the saved stack pointer up:
//    0 handle   8 record   16 die_record   24 finish   32 rbp   40 return address
// No note says that this file keeps to shadow stacks (GNU_PROPERTY_X86_FEATURE_1_SHSTK), and none may: frames that move
// return where no call was. Without it the linker takes the property from the whole program, and the kernel's shadow
// stack stays off.
//
// hot_state:   0 bottom   8 split_sp   16 doorbell   24 scheduler_sp   32 suspended_sp

#define FRAME 40

	.text

	.macro push_cfi register
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \register, 0
	.endm

	.macro pop_cfi register
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore \register
	.endm

	.macro hidden_function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.endm

// registers2 tobi_fork(w0, handle* h, const task_type* type, w1, w2, w3): rdi, rcx, r8 and r9 are the closure
//
// The whole of a fork whose continuation nobody wants: store where it is, look at one word, call. Its callers
// know that it changes every register but rbp (tobi/detail/fork.hpp), so the compiler itself has put on the stack what is
// alive there, and nothing else is saved: a frame of five words. rbp may be the frame pointer, which cannot be put there. While the child runs, rbx, which the child preserves, holds our deque slot.
//
// The return lowers `bottom` before it looks at split_sp. Somebody else may raise the split meanwhile (deque/steal_word.hpp): he
// stores split_sp, makes this core pass a barrier, and reads bottom. So one of the two sees the other, and nothing is fenced here.
//
// A child that has been moved does not return here but to tobi_moved_return: rbx is another process's then, and nothing above rsp is ours.
// Whoever brings its frames puts that address where the call had left this one (arch/x86_64/context_impl.hpp).
	.globl	tobi_fork
	.type	tobi_fork, @function
	.p2align 6
tobi_fork:
	.cfi_startproc
	push_cfi rbp
	subq	$32, %rsp
	.cfi_adjust_cfa_offset 32
	movq	tobi_hot(%rip), %rbx
	movq	%rsi, (%rsp)
	movq	%rsp, (%rbx)
	leaq	8(%rbx), %rax
	movq	%rax, tobi_hot(%rip)
	movq	tobi_hot+16(%rip), %rax
	cmpq	$0, (%rax)
	jne	.Lfork_slow
.Lcall_child:
	call	*(%rdx)
	movq	%rbx, tobi_hot(%rip)
	cmpq	tobi_hot+8(%rip), %rsp
	jae	.Lreturn_slow
.Lreturn:
	.cfi_remember_state
	addq	$FRAME, %rsp
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	ret
	.cfi_restore_state

// The doorbell has rung, or every fork is to be seen: tobi_on_fork(sp, words), WORDS in memory, the type behind the closure's four. It
// returns to go on as before, with the words as they are then.
.Lfork_slow:
	movq	%rsp, %r10
	subq	$48, %rsp
	.cfi_adjust_cfa_offset 48
	movq	%rdi, (%rsp)
	movq	%rcx, 8(%rsp)
	movq	%r8, 16(%rsp)
	movq	%r9, 24(%rsp)
	movq	%rdx, 32(%rsp)
	movq	%r10, %rdi
	movq	%rsp, %rsi
	call	tobi_on_fork
	movq	(%rsp), %rdi
	movq	8(%rsp), %rcx
	movq	16(%rsp), %r8
	movq	24(%rsp), %r9
	movq	32(%rsp), %rdx
	addq	$48, %rsp
	.cfi_adjust_cfa_offset -48
	jmp	.Lcall_child

// The frame above is not private, or is not to be taken for it: it counts as an entry again, and tobi_on_return(sp, a, b) returns when
// the owner got it back, else it leaves.
.Lreturn_slow:
	addq	$8, tobi_hot(%rip)
	movq	%rsp, %rdi
	movq	%rax, %rsi
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	tobi_on_return
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	jmp	.Lreturn
	.cfi_endproc
	.size	tobi_fork, .-tobi_fork

// Where a child returns to whose parent is elsewhere, with rsp at its base. It has no entry here: tobi_on_return leaves. For whoever
// walks the stack this is the end. The byte before the label is what an unwinder looks up, which takes the address for one behind a call.
	hidden_function tobi_moved
	.cfi_startproc
	.cfi_undefined rip
	nop
	.globl	tobi_moved_return
	.hidden	tobi_moved_return
tobi_moved_return:
	movq	%rsp, %rdi
	movq	%rax, %rsi
	subq	$16, %rsp
	call	tobi_on_return
	ud2
	.cfi_endproc
	.size	tobi_moved, .-tobi_moved

	.macro save_scheduler
	push_cfi rbp
	push_cfi rbx
	push_cfi r12
	push_cfi r13
	push_cfi r14
	push_cfi r15
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, tobi_hot+24(%rip)
	.endm

	hidden_function tobi_enter
	.cfi_startproc
	save_scheduler
	movq	32(%rdi), %rbp
	leaq	FRAME(%rdi), %rsp
	ret
	.cfi_endproc
	.size	tobi_enter, .-tobi_enter

// The child runs below a frame that is no longer there, and returns as one that was moved.
	hidden_function tobi_enter_child
	.cfi_startproc
	save_scheduler
	movq	%rdi, %rsp
	movq	(%rsi), %rdi
	movq	8(%rsi), %rcx
	movq	16(%rsi), %r8
	movq	24(%rsi), %r9
	leaq	tobi_moved_return(%rip), %rax
	pushq	%rax
	jmp	*(%rdx)
	.cfi_endproc
	.size	tobi_enter_child, .-tobi_enter_child

// The end of every backtrace: nothing called the root.
	hidden_function tobi_enter_root
	.cfi_startproc
	save_scheduler
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	.cfi_undefined rip
	xorl	%ebp, %ebp
	call	*%rsi
	ud2
	.cfi_endproc
	.size	tobi_enter_root, .-tobi_enter_root

	hidden_function tobi_leave
	.cfi_startproc
	movq	tobi_hot+24(%rip), %rsp
	.cfi_def_cfa_offset 64
	.cfi_rel_offset rbp, 48
	.cfi_rel_offset rbx, 40
	.cfi_rel_offset r12, 32
	.cfi_rel_offset r13, 24
	.cfi_rel_offset r14, 16
	.cfi_rel_offset r15, 8
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop_cfi	r15
	pop_cfi	r14
	pop_cfi	r13
	pop_cfi	r12
	pop_cfi	rbx
	pop_cfi	rbp
	ret
	.cfi_endproc
	.size	tobi_leave, .-tobi_leave

// An ordinary function to its caller: it saves the callee-saved registers itself, above a frame like that of a fork.
	hidden_function tobi_suspend
	.cfi_startproc
	push_cfi rbx
	push_cfi r12
	push_cfi r13
	push_cfi r14
	push_cfi r15
	call	.Lsave_and_leave
	pop_cfi	r15
	pop_cfi	r14
	pop_cfi	r13
	pop_cfi	r12
	pop_cfi	rbx
	ret
	.cfi_endproc
	.size	tobi_suspend, .-tobi_suspend

.Lsave_and_leave:
	pushq	%rbp
	subq	$32, %rsp
	movq	%rsp, tobi_hot+32(%rip)
	jmp	tobi_leave

	.section .note.GNU-stack, "", @progbits
