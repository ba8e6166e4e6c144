/* Vectors, from address 0 (a jump for each cause), and the start, at 0x80, where Ibex begins. */
    .section .vectors, "ax"
    .option norvc
    j fault
    .rept 10
    j fault
    .endr
    j external
    .rept 20
    j fault
    .endr

    .org 0x80
    .globl start
start:
    la sp, stack_top
    /* Initialised data from ROM, zeros for the rest. */
    la a0, data_start
    la a1, data_source
    la a2, data_end
1:  bgeu a0, a2, 2f
    lw a3, 0(a1)
    sw a3, 0(a0)
    addi a0, a0, 4
    addi a1, a1, 4
    j 1b
2:  la a0, bss_start
    la a2, bss_end
3:  bgeu a0, a2, 4f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 3b
4:  call main
    j exit_with

fault:
    csrr a0, mcause
    csrr a1, mepc
    call fault_handler

external:
    j external_handler

    /* a0: the code. */
    .globl exit_with
exit_with:
    lui a1, 0x30000
    sw a0, 4(a1)
5:  j 5b
