// A burst that starts while STATUS.READY is 1 meets no wait; without an input buffer. Inserted into sm3_ahb
// after ahb.vh.
wire [4-ROUNDS_PER_CYCLE:0] f_units;    // of words that have entered the chain

always @* if (f_started && HRESETn) begin
    if (word_valid && (room || f_burst != 4'd0))
        assert (word_ready);
    if (f_burst != 4'd0) begin
        assert (count == {1'b0, f_burst} && ROUNDS_PER_CYCLE * f_units <= f_burst);
        // With two rounds a cycle the first eight words are taken before they may enter the chain.
        assert (f_at >= F_WINDOW || (ROUNDS_PER_CYCLE == 2 && f_at >= 7'd24 + f_burst));
    end
end
