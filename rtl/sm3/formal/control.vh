// sm3_control: where its counter may be, and what the words taken have to do with it. Inserted into
// sm3_control, for the proofs about what is around it.
localparam [7:0] F_FIRST = 12 / R;      // round 0
localparam [7:0] F_WINDOW = 64 / R;     // the next block may enter the chain
localparam [7:0] F_DRAIN = 76 / R;
localparam [7:0] F_IDLE = 80 / R;
wire [7:0] f_at = count;
reg f_started;
initial f_started = 1'b0;
always @(posedge clk)
    f_started <= 1'b1;

always @* if (f_started) begin
    assert (f_at >= F_FIRST && f_at <= F_IDLE);
    assert (idle == (f_at == F_IDLE));
    assert (drain == (f_at >= F_DRAIN && f_at < F_IDLE));
    assert (unit_open == (f_at >= F_WINDOW));
    // The state is brought from V to the rounds, after the first word, where no block's result is in it.
    assert (feed || idle || (drain && units != 0));
    if (f_at < F_WINDOW || idle)
        assert (units == 0);
    else if (feed)
        assert (units <= f_at - F_WINDOW);
    else if (f_at != F_IDLE - 8'd1)
        assert (units <= f_at - F_DRAIN + 8'd1);
    // `done` is the cycle after a drain, with which the state became idle or another block began.
    assert (!done || idle || f_at == F_FIRST);
end
