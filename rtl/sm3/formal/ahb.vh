// sm3_ahb: the rules of an AHB-Lite slave, the register map of regs.rdl, and every accepted word of DIN to
// the core once and in order. Inserted into sm3_ahb after master.vh.
//
// Generated from regs.rdl for these proofs (access.vh): which words of the address space may be read and
// written, which bits each register has, what constants it holds.
`include "access.vh"

localparam [6:0] F_WINDOW = 64 / ROUNDS_PER_CYCLE;  // the core's counter when words enter the chain
localparam [6:0] F_FIRST = 12 / ROUNDS_PER_CYCLE;
localparam [6:0] F_LONGEST = 52 / ROUNDS_PER_CYCLE; // wait states of a word

// Signals within the core.
wire [7-ROUNDS_PER_CYCLE:0] f_count;
wire [6:0] f_at = f_count;

// The transfer in its data phase, and what must become of it.
wire [9:0] f_word = f_address[11:2];
wire f_right = f_size == 3'd2 && f_address[1:0] == 2'd0 && (f_write ? f_writable(f_word) : f_readable(f_word));
wire f_to_din = f_word >= DIN_OFFSET / 4 && f_word < DIN_OFFSET / 4 + DIN_WORDS;
wire f_to_digest = f_word >= DIGEST_OFFSET / 4 && f_word < DIGEST_OFFSET / 4 + DIGEST_WORDS;
wire f_error = f_transfer && (!f_right || (f_to_digest && busy));
wire f_done = f_transfer && HREADYOUT && !HRESP;
wire f_read = f_done && !f_write;
wire f_written = f_done && f_write;

reg f_second;           // second cycle of an ERROR response
reg [6:0] f_waits;      // wait states so far
reg [31:0] f_ctrl, f_irq_enable;
reg [2:0] f_irq_status;
reg f_was_busy, f_was_ready, f_was_init;

wire f_init = f_written && f_word == CTRL_OFFSET / 4 && HWDATA[CTRL_INIT_LSB];
wire [2:0] f_events = {f_error && !f_second, room && !f_was_ready, f_was_busy && !busy && !f_was_init};

always @(posedge HCLK or negedge HRESETn)
    if (!HRESETn) begin
        f_second <= 1'b0;
        f_waits <= 7'd0;
        f_ctrl <= 32'd0;
        f_irq_enable <= 32'd0;
        f_irq_status <= 3'd0;
        f_was_busy <= 1'b0;
        f_was_ready <= 1'b1;
        f_was_init <= 1'b0;
    end else begin
        f_second <= f_error && !f_second;
        f_waits <= HREADYOUT ? 7'd0 : f_waits + 7'd1;
        if (f_written && f_word == CTRL_OFFSET / 4)
            f_ctrl <= HWDATA & CTRL_STORED;
        if (f_written && f_word == IRQ_ENABLE_OFFSET / 4)
            f_irq_enable <= HWDATA & IRQ_ENABLE_STORED;
        f_irq_status <= f_events
            | (f_irq_status & ~((f_written && f_word == IRQ_STATUS_OFFSET / 4) ? HWDATA[2:0] : 3'd0));
        f_was_busy <= busy;
        f_was_ready <= room;
        f_was_init <= f_init;
    end

// Responses.
always @* if (f_started) begin
    if (!HRESETn || !f_transfer)
        assert (HREADYOUT && !HRESP);
    else if (f_second)
        assert (HREADYOUT && HRESP);
    else if (f_error)
        assert (!HREADYOUT && HRESP);
    else begin
        assert (!HRESP);
        assert (HREADYOUT || (f_write && f_to_din));
    end
    assert (f_waits <= F_LONGEST);
end

// Registers.
always @* if (f_started && HRESETn) begin
    if (f_read) begin
        assert ((HRDATA & ~f_bits(f_word)) == 32'd0);
        if (f_constant(f_word))
            assert (HRDATA == f_value(f_word));
        if (f_word == CTRL_OFFSET / 4)
            assert (HRDATA == f_ctrl);
        if (f_word == STATUS_OFFSET / 4)
            assert (HRDATA == {19'd0, count, 6'd0, busy, room});
        if (f_word == IRQ_ENABLE_OFFSET / 4)
            assert (HRDATA == f_irq_enable);
        if (f_word == IRQ_STATUS_OFFSET / 4)
            assert (HRDATA == {29'd0, f_irq_status});
        if (f_to_digest)
            assert (HRDATA == (f_ctrl[CTRL_SWAP_OUT_LSB] ? f_reversed(v_data) : v_data) && index == f_word[2:0]);
    end
    assert (IRQ == |(f_irq_status & f_irq_enable[2:0]));
    assert (DMA_REQ ? f_ctrl[CTRL_DMA_ENABLE_LSB] : !(f_ctrl[CTRL_DMA_ENABLE_LSB] && room));
    if (f_ctrl[CTRL_DMA_EARLY_LSB +: 8] == 8'd0)
        assert (DMA_REQ == (f_ctrl[CTRL_DMA_ENABLE_LSB] && room));
end

// Words: each that the bus completes goes on, in the order of bytes asked for, and no other does.
function [31:0] f_reversed(input [31:0] X);
    f_reversed = {X[7:0], X[15:8], X[23:16], X[31:24]};
endfunction

wire f_accepted = f_written && f_to_din;

always @* if (f_started && HRESETn) begin
    assert ((word_valid && word_ready) == f_accepted);
    if (f_accepted)
        assert (data == (f_ctrl[CTRL_SWAP_IN_LSB] ? f_reversed(HWDATA) : HWDATA));
    // V is written with what the bus wrote, and only while that is allowed.
    assert ((go && digest && write) == (f_written && f_to_digest));
    if (f_written && f_to_digest)
        assert (data == (f_ctrl[CTRL_SWAP_OUT_LSB] ? f_reversed(HWDATA) : HWDATA)
                && index == f_word[2:0] && !core_busy);
    assert (init == f_init);
end

// What this module keeps of a transfer, and of registers.
always @* if (f_started) begin
    assert (active == f_transfer && failed == f_second);
    assert (!f_transfer || f_here);
    if (f_transfer) begin
        assert (wrong == !f_right);
        assert (write == f_write);
        if (f_right)
            assert (din == f_to_din && digest == f_to_digest && (din || index == f_word[2:0]));
    end else
        assert (!f_second);
    assert ({dma_early, 4'd0, dma_enable, swap_out, swap_in, 1'b0} == f_ctrl[15:0] && f_ctrl[31:16] == 16'd0);
    assert (irq_enable == f_irq_enable[2:0] && f_irq_enable[31:3] == 29'd0);
    assert (irq_status == f_irq_status && had_room == f_was_ready);
    if (f_second || !f_transfer || !f_to_din)
        assert (f_waits == {6'd0, f_second});
end

// The core's counter: the first of its cycles that a word can wait in, and none after words may enter.
always @* if (f_started) begin
    if (f_transfer && f_to_din && !f_second && f_waits != 7'd0)
        assert (f_at <= F_WINDOW && f_waits <= f_at - F_FIRST && !f_error);
    // The core is done in the cycle in which it falls idle.
    if (core_done)
        assert (f_was_busy && !f_was_init);
    if (f_was_busy && !busy && !f_was_init)
        assert (core_done);
end

// A burst that starts while STATUS.READY is 1 and does not pause meets no wait.
reg [3:0] f_burst;      // its words so far
always @(posedge HCLK or negedge HRESETn)
    if (!HRESETn)
        f_burst <= 4'd0;
    else if (!f_accepted || !(room || f_burst != 4'd0))
        f_burst <= 4'd0;
    else
        f_burst <= f_burst + 4'd1;
