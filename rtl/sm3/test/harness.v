// Every parameter set of sm3_ahb on one bus, and both sets of sm3_core: one build for all tests.
// SETS leaves some out, for a simulator that is slow. `select` says which of them HSEL and the c_ ports reach: bit 0 is ROUNDS_PER_CYCLE - 1, bit 1 INPUT_BUFFER.
//
// HREADY is made as an interconnect makes it: by the slave whose data phase it is. While that is another
// slave's, `other_ready` stands for its HREADYOUT.
`default_nettype none

module harness #(
    parameter [3:0] SETS = 4'hF,  // what is built
    parameter integer V_IN_RAM = 0
) (
    input wire clk,
    input wire rst_n,
    input wire [1:0] select,

    input wire HSEL,
    input wire [11:0] HADDR,
    input wire [1:0] HTRANS,
    input wire HWRITE,
    input wire [2:0] HSIZE,
    input wire [2:0] HBURST,
    input wire [31:0] HWDATA,
    input wire other_ready,
    output wire HREADY,
    output wire HRESP,
    output wire [31:0] HRDATA,
    output wire IRQ,
    output wire DMA_REQ,

    // As they were at the last rising edge: tests act on the falling edge and race with nothing.
    output reg [3:0] sample,  // DMA_REQ, IRQ, HRESP, HREADY
    output reg [31:0] sample_data,
    output wire [2:0] broken,
    output wire [7:0] longest,

    input wire c_init,
    input wire [31:0] c_w_data,
    input wire c_w_valid,
    output wire c_w_ready,
    output wire c_w_open,
    output wire [6:0] c_w_phase,
    output wire c_busy,
    output wire c_done,
    output wire [4:0] c_w_count,
    input wire [2:0] c_v_index,
    output wire [31:0] c_v_data,
    input wire c_v_write,
    input wire [31:0] c_v_next,
    output reg c_taken  // a word was taken at the last rising edge
);

    wire [3:0] ready, resp, irq, dma_req;
    wire [31:0] rdata [0:3];

    reg here;
    assign HREADY = here ? ready[select] : other_ready;
    assign HRESP = here && resp[select];
    assign HRDATA = rdata[select];
    assign IRQ = irq[select];
    assign DMA_REQ = dma_req[select];

    always @(posedge clk or negedge rst_n)
        if (!rst_n)
            here <= 1'b1;
        else if (HREADY)
            here <= HSEL;

    always @(posedge clk) begin
        sample <= {DMA_REQ, IRQ, HRESP, HREADY};
        sample_data <= HRDATA;
        c_taken <= c_w_valid && c_w_ready;
    end

    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) if (SETS[i]) begin : set
            sm3_ahb #(
                .ROUNDS_PER_CYCLE(1 + i % 2),
                .INPUT_BUFFER(i / 2),
                .V_IN_RAM(V_IN_RAM)
            ) slave (
                .HCLK(clk),
                .HRESETn(rst_n),
                .HSEL(HSEL && select == i),
                .HADDR(HADDR),
                .HTRANS(HTRANS),
                .HWRITE(HWRITE),
                .HSIZE(HSIZE),
                .HBURST(HBURST),
                .HWDATA(HWDATA),
                .HREADY(HREADY),
                .HREADYOUT(ready[i]),
                .HRESP(resp[i]),
                .HRDATA(rdata[i]),
                .IRQ(irq[i]),
                .DMA_REQ(dma_req[i])
            );
        end
    endgenerate

    ahb_rules rules (
        .clk(clk),
        .rst_n(rst_n),
        .bound(select[0] ? 8'd34 : 8'd68),
        .HSEL(HSEL),
        .HADDR(HADDR),
        .transfer(HTRANS[1]),
        .HWRITE(HWRITE),
        .HSIZE(HSIZE),
        .HREADY(HREADY),
        .HREADYOUT(ready[select]),
        .HRESP(resp[select]),
        .IRQ(IRQ),
        .DMA_REQ(DMA_REQ),
        .broken(broken),
        .longest(longest)
    );

    wire [1:0] w_ready, w_open, busy, done;
    wire [4:0] w_count [0:1];
    wire [6:0] w_phase [0:1];
    wire [31:0] v_data [0:1];
    assign c_w_ready = w_ready[select[0]];
    assign c_w_open = w_open[select[0]];
    assign c_w_phase = w_phase[select[0]];
    assign c_busy = busy[select[0]];
    assign c_done = done[select[0]];
    assign c_w_count = w_count[select[0]];
    assign c_v_data = v_data[select[0]];

    generate
        for (i = 0; i < 2; i = i + 1) if (SETS[i]) begin : rounds
            wire mine = select[0] == i;
            sm3_core #(
                .ROUNDS_PER_CYCLE(1 + i),
                .V_IN_RAM(V_IN_RAM)
            ) core (
                .clk(clk),
                .rst_n(rst_n),
                .init(c_init && mine),
                .w_data(c_w_data),
                .w_valid(c_w_valid && mine),
                .w_ready(w_ready[i]),
                .w_open(w_open[i]),
                .w_phase(w_phase[i]),
                .busy(busy[i]),
                .done(done[i]),
                .w_count(w_count[i]),
                .v_index(c_v_index),
                .v_data(v_data[i]),
                .v_write(c_v_write && mine),
                .v_next(c_v_next)
            );
        end
    endgenerate

endmodule

`default_nettype wire
