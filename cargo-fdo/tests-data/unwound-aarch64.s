// Functions whose frames are easy to write down: see `profile/stacks/tests.rs`.
	.text
	.globl _start, middle, leaf
	.type _start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	bl middle
	brk #0
	.cfi_endproc
	.size _start, .-_start

	.type middle, %function
middle:
	.cfi_startproc
	stp x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	bl leaf
	ldp x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size middle, .-middle

	.type leaf, %function
leaf:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size leaf, .-leaf
