// The same with two rounds a cycle: pairs wait for each other before the chain may take them, not after.
// Inserted into sm3_ahb after burst_direct.vh.
wire [4:0] f_held;      // words taken that have not entered the chain

always @* if (f_started)
    if (f_at < F_WINDOW)
        assert (f_held <= 5'd8);
    else if (f_held >= 5'd2) begin
        assert (f_units == f_at - F_WINDOW);
        assert (2 * f_units + f_held <= 8 + f_at - F_WINDOW);
    end
