# Functions whose frames are easy to write down: see `profile/stacks/tests.rs`.
	.text
	.globl _start, middle, leaf
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	call middle
	hlt
	.cfi_endproc
	.size _start, .-_start

	.type middle, @function
middle:
	.cfi_startproc
	subq $24, %rsp
	.cfi_adjust_cfa_offset 24
	call leaf
	addq $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size middle, .-middle

	.type leaf, @function
leaf:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size leaf, .-leaf
