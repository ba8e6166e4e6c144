// sm3_gather: every word taken leaves once, in order, as a half of a pair. Inserted into sm3_gather.
//
// `f_word` keeps the words taken at their place in the block; never so many are held that one of them would
// be overwritten before it leaves.
reg f_started;
initial f_started = 1'b0;
always @(posedge clk)
    f_started <= 1'b1;

reg [511:0] f_word;
reg [4:0] f_held;       // words taken that have not left
wire f_out = pair_valid && pair_open;

always @(posedge clk or negedge rst_n)
    if (!rst_n)
        f_held <= 5'd0;
    else if (init)
        f_held <= 5'd0;
    else
        f_held <= f_held + {4'd0, take} - {3'd0, f_out, 1'b0};

always @(posedge clk)
    if (take)
        f_word[32*count +: 32] <= w_data;

// Pairs that have left, as the chain counts them.
reg [2:0] f_left;
always @(posedge clk or negedge rst_n)
    if (!rst_n)
        f_left <= 3'd0;
    else if (init)
        f_left <= 3'd0;
    else if (f_out)
        f_left <= f_left + 3'd1;

always @*
    if (!f_started)
        assume (!rst_n);

always @* if (f_started) begin
    assert (f_held <= 5'd9);
    // The next word's place follows the last that left by as many as are held.
    assert (count == {f_left, 1'b0} + f_held[3:0]);
    // What is taken with both words of its pair at hand leaves at once, or is held.
    if (f_out) begin
        assert (f_held >= 5'd2 || (f_held == 5'd1 && take));
        assert (pair[31:0] == f_word[64*f_left +: 32]);
        assert (pair[63:32] == (f_held == 5'd1 ? w_data : f_word[64*f_left+32 +: 32]));
    end
end

genvar f_i;
generate
    for (f_i = 0; f_i < 9; f_i = f_i + 1) begin : f_kept
        wire [3:0] place = {f_left, 1'b0} + f_i;
        always @* if (f_started)
            if (f_i < f_held)
                assert (f_word[32*place +: 32] == (place[0] ? odd[place[2:1]] : even[place[2:1]]));
    end
endgenerate
