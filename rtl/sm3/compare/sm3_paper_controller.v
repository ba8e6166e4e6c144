// The controller: a finite state machine in three stages (state register, next state, registered
// outputs) and the counter that expansion, compression and result module share.
//
// It counts rounds j, in two's complement: words are taken from j = -6 on (NESTED) or -17 on, M and N
// get their first values at -1, rounds are 0...63, V is updated at 64. Reading goes on from there, so
// that the three low bits are the number of the word.
`default_nettype none

module sm3_paper_controller #(
    parameter NESTED = 1
) (
    input  wire       clk,
    input  wire       rst_n,
    input  wire       w,         // IDLE: begin a block; WRITE: a word is there
    input  wire       r,         // when V is updated: read it out; READ: next word
    output reg  [1:0] ctrl,
    output reg        finish,
    output reg  [6:0] countout,
    output reg        restore,   // V := IV
    output wire       load,      // A...H := V
    output wire       from_din,  // the next W is a word of the message
    output wire       step,      // the expansion moves by one word
    output wire       prepare,   // first values of M and N
    output wire       round,
    output wire       feed       // V := V xor A...H
);
    localparam IDLE = 2'd0, WRITE = 2'd1, ENCRYPT = 2'd2, READ = 2'd3;
    localparam [6:0] FIRST = (NESTED != 0) ? 7'd122 : 7'd111;  // -6 or -17
    localparam [6:0] LAST = (NESTED != 0) ? 7'd9 : 7'd126;  // FIRST + 15

    reg [1:0] next;

    wire last_word = from_din & w & (countout == LAST);
    wire last_read = (ctrl == READ) & r & (&countout[2:0]);

    assign load = (ctrl == IDLE) & w & ~restore;
    assign from_din = (ctrl == WRITE);
    assign step = from_din ? w : (ctrl == ENCRYPT) & ~feed;
    assign prepare = step & (&countout);
    assign round = step & ~countout[6];
    assign feed = (ctrl == ENCRYPT) & (countout[6:5] == 2'b10);

    always @(posedge clk or negedge rst_n)
        if (!rst_n) ctrl <= IDLE;
        else ctrl <= next;

    always @* begin
        next = ctrl;
        case (ctrl)
            IDLE: if (load) next = WRITE;
            WRITE: if (last_word) next = ENCRYPT;
            ENCRYPT: if (feed) next = r ? READ : IDLE;
            default: if (last_read) next = IDLE;
        endcase
    end

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            finish  <= 1'b0;
            restore <= 1'b1;
        end else begin
            finish  <= feed | last_read | (finish & (ctrl == IDLE) & ~load);
            restore <= last_read;
        end

    always @(posedge clk or negedge rst_n)
        if (!rst_n) countout <= FIRST;
        else if (load | step | ((ctrl == READ) & r)) countout <= load ? FIRST : countout + 7'd1;
endmodule

`default_nettype wire
