// SM3 as an AHB-Lite slave: sm3_core behind the registers of regs.rdl.
//
//   offset     register    access
//   0x00       ID          R      "SM3 "
//   0x04       VERSION     R      7:0 MINOR, 15:8 MAJOR, 17:16 ROUNDS, 18 BUFFERED
//   0x08       CTRL        RW     0 INIT (reads 0), 1 SWAP_IN, 2 SWAP_OUT, 3 DMA_ENABLE, 15:8 DMA_EARLY
//   0x0C       STATUS      R      0 READY, 1 BUSY, 12:8 COUNT
//   0x10       IRQ_ENABLE  RW     0 DONE, 1 READY, 2 ERROR
//   0x14       IRQ_STATUS  R/W1C  the same; an event in the cycle of its clearing stays
//   0x40-0x7C  DIN         W      the block's words in the order of the transfers
//   0x80-0x9C  DIGEST      RW     V0..V7, while STATUS.BUSY is 0
//
// Reads have no wait states, nor has a write but to DIN: that waits while there is no room, at most until the block
// being compressed has left the chain. An INCR16 to DIN that starts while STATUS.READY is 1 meets no wait. Accesses
// that are not in the table, and other sizes than a word, get the ERROR response of two cycles and change nothing but
// IRQ_STATUS.ERROR:
//
//   HCLK       | addr | data 1 | data 2 |
//   HTRANS     NONSEQ
//   HREADYOUT  """"""""________""""""""""
//   HRESP      ________""""""""""""""""""__
//
// HBURST is not looked at: every transfer comes with its address and is served alone.
`default_nettype none

module sm3_ahb #(
    parameter ROUNDS_PER_CYCLE = 1,     // 1: 68 cycles a block; 2: 34
    parameter INPUT_BUFFER     = 0,     // 1: a queue of 16 words before the core
    parameter V_IN_RAM         = 0      // 1: V in lookup tables used as memory, for FPGAs
) (
    input  wire        HCLK,
    input  wire        HRESETn,         // asserted asynchronously
    input  wire        HSEL,
    input  wire [11:0] HADDR,
    input  wire [1:0]  HTRANS,
    input  wire        HWRITE,
    input  wire [2:0]  HSIZE,
    input  wire [2:0]  HBURST,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output wire        HREADYOUT,
    output wire        HRESP,
    output wire [31:0] HRDATA,
    output wire        IRQ,             // level, while an enabled bit of IRQ_STATUS is 1
    output wire        DMA_REQ          // level, from CTRL.DMA_EARLY cycles before READY to the first word of a block
);
    localparam [31:0] ID       = 32'h534d3320;
    localparam [1:0]  ROUNDS   = ROUNDS_PER_CYCLE == 2 ? 2'd2 : 2'd1;
    localparam [31:0] VERSION  = {13'd0, INPUT_BUFFER != 0, ROUNDS, 8'd1, 8'd0};

    // Address phase: what the data phase needs is decoded here and kept.
    wire [5:0] at        = HADDR[7:2];
    wire       low       = at[5:3] == 3'b000;                   // 0x00-0x1C
    wire       to_din    = at[5:4] == 2'b01;
    wire       to_digest = at[5:3] == 3'b100;
    wire       to_fixed  = low & (~at[2] & (~at[1] | at[0]));   // ID, VERSION, STATUS
    wire       to_free   = low & ((at[2:0] == 3'd2) | (at[2:1] == 2'b10));
    wire       legal     = (HSIZE == 3'd2) & (HADDR[1:0] == 2'd0) & (HADDR[11:8] == 4'd0)
                         & (to_digest | to_free | (HWRITE ? to_din : to_fixed));

    reg       active;                   // a transfer is in its data phase
    reg       wrong;                    // and is not in the table
    reg       write;
    reg       din;
    reg       digest;
    reg [2:0] index;

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) active <= 1'b0;
        else if (HREADY) active <= HSEL & HTRANS[1];

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            wrong  <= 1'b0;
            write  <= 1'b0;
            din    <= 1'b0;
            digest <= 1'b0;
            index  <= 3'd0;
        end else if (HREADY & HSEL & HTRANS[1]) begin
            wrong  <= ~legal;
            write  <= HWRITE;
            din    <= to_din;
            digest <= to_digest;
            index  <= at[2:0];
        end

    // Data phase. A DIGEST access can turn out wrong only here: the transfer before may have made the core busy.
    reg  failed;                        // second cycle of an ERROR response
    wire busy;
    wire bad     = wrong | (digest & busy);
    wire refuse  = active & bad & ~failed;
    wire go      = active & ~bad & ~failed;
    wire control = go & write & ~din & ~digest;
    wire to_ctrl   = control & (index == 3'd2);
    wire to_enable = control & (index == 3'd4);
    wire to_status = control & (index == 3'd5);
    wire word_valid = go & din;
    wire word_ready;

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) failed <= 1'b0;
        else failed <= refuse;

    assign HREADYOUT = ~refuse & ~(word_valid & ~word_ready);
    assign HRESP     = refuse | failed;

    // CTRL and IRQ_ENABLE.
    reg       swap_in, swap_out, dma_enable;
    reg [7:0] dma_early;
    reg [2:0] irq_enable;
    wire      init = to_ctrl & HWDATA[0];

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            {swap_in, swap_out, dma_enable} <= 3'd0;
            dma_early <= 8'd0;
        end else if (to_ctrl) begin
            {dma_enable, swap_out, swap_in} <= HWDATA[3:1];
            dma_early <= HWDATA[15:8];
        end

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) irq_enable <= 3'd0;
        else if (to_enable) irq_enable <= HWDATA[2:0];

    // The core, its words and its chaining value.
    wire        core_valid, core_ready, core_open, core_busy, core_done;
    wire [31:0] core_data, v_data;
    wire [6:0]  phase;
    wire [4:0]  core_count, count;
    wire        room;                   // for a whole block, without a wait
    wire        at_once;                // there is, whatever the core does
    wire        between = count == 5'd0;
    wire [31:0] reversed = {HWDATA[7:0], HWDATA[15:8], HWDATA[23:16], HWDATA[31:24]};
    wire [31:0] data     = (digest ? swap_out : swap_in) ? reversed : HWDATA;

    sm3_core #(.ROUNDS_PER_CYCLE(ROUNDS_PER_CYCLE), .V_IN_RAM(V_IN_RAM)) core (
        .clk(HCLK), .rst_n(HRESETn), .init(init),
        .w_data(core_data), .w_valid(core_valid), .w_ready(core_ready), .w_open(core_open), .w_phase(phase),
        .w_count(core_count), .busy(core_busy), .done(core_done),
        .v_index(index), .v_data(v_data), .v_write(go & digest & write), .v_next(data)
    );

    generate
        if (INPUT_BUFFER != 0) begin : buffered
            wire empty = ~core_valid;

            sm3_buffer buffer (
                .clk(HCLK), .rst_n(HRESETn), .init(init),
                .in_data(data), .in_valid(word_valid), .in_ready(word_ready),
                .out_data(core_data), .out_valid(core_valid), .out_ready(core_ready), .count(count[3:0])
            );
            assign count[4] = 1'b0;
            assign busy     = core_busy | ~empty;
            assign room     = between & (empty | phase[6]);
            assign at_once  = empty;
        end else begin : direct
            assign core_data  = data;
            assign core_valid = word_valid;
            assign word_ready = core_ready;
            assign count      = core_count;
            assign busy       = core_busy;
            assign room       = core_open;
            assign at_once    = 1'b0;
        end
    endgenerate

    // DMA_REQ, from the cycles that are left until the core has room. STATUS.READY is `room`.
    wire [8:0] soon = {2'd0, phase} + {1'b0, dma_early};

    assign DMA_REQ = dma_enable & between & (at_once | (soon[8:6] != 3'd0));

    // Events: a set bit wins over its clearing.
    reg        had_room;
    reg  [2:0] irq_status;
    wire [2:0] event_now = {refuse, room & ~had_room, core_done & ~busy};

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            had_room   <= 1'b1;
            irq_status <= 3'd0;
        end else begin
            had_room   <= room;
            irq_status <= event_now | (irq_status & ~({3{to_status}} & HWDATA[2:0]));
        end

    assign IRQ = |(irq_status & irq_enable);

    // Reads. An ERROR response shows 0; nothing of V appears while the core is busy.
    wire        registers = ~digest & ~din & ~wrong;
    wire        of_digest = digest & ~bad & ~failed;        // busy may have fallen since the first cycle
    wire [31:0] v_turned  = {v_data[7:0], v_data[15:8], v_data[23:16], v_data[31:24]};

    assign HRDATA = ({32{of_digest & ~swap_out}} & v_data)
                  | ({32{of_digest & swap_out}} & v_turned)
                  | ({32{registers & (index == 3'd0)}} & ID)
                  | ({32{registers & (index == 3'd1)}} & VERSION)
                  | ({32{registers & (index == 3'd2)}} & {16'd0, dma_early, 4'd0, dma_enable, swap_out, swap_in, 1'b0})
                  | ({32{registers & (index == 3'd3)}} & {19'd0, count, 6'd0, busy, room})
                  | ({32{registers & (index == 3'd4)}} & {29'd0, irq_enable})
                  | ({32{registers & (index == 3'd5)}} & {29'd0, irq_status});

    // Bursts need no count, and each half of the parameters leaves a view of the core aside.
    wire unused = &{1'b0, HBURST, HTRANS[0], soon[5:0], core_open, core_count};
endmodule

`default_nettype wire
