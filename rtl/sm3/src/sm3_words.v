// The words of the chaining value: DEPTH pairs of them, of which one pair is looked at or written. A word not shown
// reads as 0, so what reads them can OR.
//
// IN_RAM = 0: registers with a clock gate a pair, read by AND and OR (least area in standard cells). IN_RAM = 1: a
// memory with asynchronous reading, for FPGAs that have it in their lookup tables.
`default_nettype none

module sm3_words #(
    parameter DEPTH  = 4,               // 2 or 4
    parameter IN_RAM = 0
) (
    input  wire        clk,
    input  wire [DEPTH/2-1:0] address,
    input  wire        write,
    input  wire [31:0] in_a, in_e,
    input  wire        show_a, show_e,
    input  wire [DEPTH-1:0] known,      // a pair not known is not shown
    output wire [31:0] out_a, out_e
);
    genvar i;
    generate
        if (IN_RAM != 0) begin : memory
            reg [31:0] a [0:DEPTH-1];
            reg [31:0] e [0:DEPTH-1];

            always @(posedge clk)
                if (write) begin
                    a[address] <= in_a;
                    e[address] <= in_e;
                end

            assign out_a = {32{show_a & known[address]}} & a[address];
            assign out_e = {32{show_e & known[address]}} & e[address];
        end else begin : registers
            wire [31:0] or_a [0:DEPTH];
            wire [31:0] or_e [0:DEPTH];

            assign or_a[0] = 32'd0;
            assign or_e[0] = 32'd0;
            for (i = 0; i < DEPTH; i = i + 1) begin : pair
                localparam [31:0] HERE = i;

                reg [31:0] a, e;
                wire here = address == HERE[DEPTH/2-1:0];

                always @(posedge clk)
                    if (write & here) begin
                        a <= in_a;
                        e <= in_e;
                    end

                assign or_a[i+1] = or_a[i] | ({32{show_a & here & known[i]}} & a);
                assign or_e[i+1] = or_e[i] | ({32{show_e & here & known[i]}} & e);
            end
            assign out_a = or_a[DEPTH];
            assign out_e = or_e[DEPTH];
        end
    endgenerate
endmodule

`default_nettype wire
