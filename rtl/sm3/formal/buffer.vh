// sm3_buffer: every word taken leaves once, in order. Inserted into sm3_buffer.
reg f_started;
initial f_started = 1'b0;
always @(posedge clk)
    f_started <= 1'b1;
always @*
    if (!f_started)
        assume (!rst_n);

// The words held, the oldest lowest, and their number.
reg [511:0] f_word;
reg [4:0] f_held;
reg [3:0] f_place;      // of the next word, in its block
wire f_out = out_valid && out_ready;
wire [511:0] f_rest = f_out ? f_word >> 32 : f_word;
wire [4:0] f_rests = f_held - {4'd0, f_out};

always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
        f_held <= 5'd0;
        f_place <= 4'd0;
    end else if (init) begin
        f_held <= 5'd0;
        f_place <= 4'd0;
    end else begin
        f_held <= f_rests + {4'd0, take};
        f_place <= f_place + {3'd0, take};
    end

reg [511:0] f_next;
always @* begin
    f_next = f_rest;
    if (take)
        f_next[32*f_rests[3:0] +: 32] = in_data;
end
always @(posedge clk)
    f_word <= f_next;

always @* if (f_started) begin
    assert (held == f_held && f_held <= 5'd16);
    assert (count == f_place);
    assert (out_valid == (f_held != 5'd0));
    if (out_valid)
        assert (out_data == f_word[31:0]);
    // There is room for a word unless 16 are held and none leaves.
    assert (in_ready == (f_held < 5'd16 || out_ready));
end

genvar f_i;
generate
    for (f_i = 0; f_i < 16; f_i = f_i + 1) begin : f_kept
        wire [3:0] place = out[3:0] + f_i;
        always @* if (f_started)
            if (f_i < f_held)
                assert (word[place] == f_word[32*f_i +: 32]);
    end
endgenerate
