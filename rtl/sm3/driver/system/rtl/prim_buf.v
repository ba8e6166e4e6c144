// The buffer that Ibex's sources instantiate where synthesis is to keep a net; here a wire.
`default_nettype none

module prim_buf #(
    parameter integer Width = 1
) (
    input  wire [Width-1:0] in_i,
    output wire [Width-1:0] out_o
);
    assign out_o = in_i;
endmodule

`default_nettype wire
