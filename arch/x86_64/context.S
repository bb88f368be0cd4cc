// x86-64: fork, suspend, enter, leave (System V ABI). See arch/context.hpp for what each promises.
//
// Saved frame, from the saved stack pointer up:
//    0 handle   8 record   16 die_record   24 r15   32 r14   40 r13   48 r12   56 rbx   64 rbp   72 return address
// hot_state:   0 bottom   8 split_sp   16 doorbell   24 scheduler_sp   32 suspended_sp

#define FRAME 72

	.text

	.macro save_registers
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	.endm

// registers2 tobi_fork(void* closure, handle* h, const task_type* type)
//
// The whole of a fork whose continuation nobody wants: save, store one deque entry, look at one word, call. The callee
// preserves the callee-saved registers, so the way back restores only rbx, which held our deque slot meanwhile. A child
// that has been moved returns here too, on another worker: then rsp is at or above split_sp, rbx is another process's,
// and nothing above rsp is ours: the slow path takes over before anything is read.
	.globl	tobi_fork
	.type	tobi_fork, @function
	.p2align 6
tobi_fork:
	.cfi_startproc
	save_registers
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
	cmpq	tobi_hot+8(%rip), %rsp
	jae	.Lreturn_slow
	movq	%rbx, tobi_hot(%rip)
.Lreturn:
	movq	56(%rsp), %rbx
	.cfi_remember_state
	addq	$FRAME, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state

// The doorbell has rung, or every fork is to be seen: tobi_on_fork(sp, closure, type). It returns to go on as before.
.Lfork_slow:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rsi
	leaq	16(%rsp), %rdi
	call	tobi_on_fork
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	.Lcall_child

// The frame above is not private: tobi_on_return(sp, a, b) returns when the owner got it back, else it leaves.
.Lreturn_slow:
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

	.macro save_scheduler
	save_registers
	movq	%rsp, tobi_hot+24(%rip)
	.endm

	.macro restore_and_return
	movq	24(%rsp), %r15
	movq	32(%rsp), %r14
	movq	40(%rsp), %r13
	movq	48(%rsp), %r12
	movq	56(%rsp), %rbx
	movq	64(%rsp), %rbp
	addq	$FRAME, %rsp
	ret
	.endm

	.macro hidden_function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.endm

	hidden_function tobi_enter
	.cfi_startproc
	save_scheduler
	movq	%rdi, %rsp
	restore_and_return
	.cfi_endproc
	.size	tobi_enter, .-tobi_enter

// The child runs below a frame that is no longer there; its return lands in tobi_fork, behind the call, like any other's.
	hidden_function tobi_enter_child
	.cfi_startproc
	save_scheduler
	movq	%rdi, %rsp
	movq	%rsi, %rdi
	jmp	.Lcall_child
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

	hidden_function tobi_suspend
	.cfi_startproc
	save_registers
	movq	%rsp, tobi_hot+32(%rip)
	jmp	tobi_leave
	.cfi_endproc
	.size	tobi_suspend, .-tobi_suspend

	hidden_function tobi_leave
	.cfi_startproc
	movq	tobi_hot+24(%rip), %rsp
	restore_and_return
	.cfi_endproc
	.size	tobi_leave, .-tobi_leave

	.section .note.GNU-stack, "", @progbits
