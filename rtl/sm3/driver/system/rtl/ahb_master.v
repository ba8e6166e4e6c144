// Two requesters, a processor and a DMA controller, as one AHB-Lite master. Requests stay until they are
// granted. The processor comes first, but does not break a burst.
`default_nettype none

module ahb_master (
    input  wire        clk,
    input  wire        rst_n,
    // The processor: single transfers, by byte enables.
    input  wire        cpu_req,
    input  wire        cpu_we,
    input  wire [3:0]  cpu_be,
    input  wire [31:0] cpu_addr,
    input  wire [31:0] cpu_wdata,
    output wire        cpu_gnt,
    output wire        cpu_rvalid,
    output wire        cpu_err,
    // The controller: words; `dma_first` begins a burst, `dma_last` ends it.
    input  wire        dma_req,
    input  wire        dma_we,
    input  wire        dma_first,
    input  wire        dma_last,
    input  wire [2:0]  dma_burst,
    input  wire [31:0] dma_addr,
    input  wire [31:0] dma_wdata,
    output wire        dma_gnt,
    output wire        dma_rvalid,
    output wire        dma_err,
    output wire [31:0] HADDR,
    output wire [1:0]  HTRANS,
    output wire        HWRITE,
    output wire [2:0]  HSIZE,
    output wire [2:0]  HBURST,
    output reg  [31:0] HWDATA,
    input  wire        HREADY,
    input  wire        HRESP
);
    localparam [1:0] IDLE = 2'b00;
    localparam [1:0] NONSEQ = 2'b10;
    localparam [1:0] SEQ = 2'b11;

    // The transfer that is offered while HREADY is low stays, and so does a burst.
    reg  held;
    reg  held_dma;
    reg  bursting;
    wire dma_chosen = held ? held_dma : ((bursting && dma_req) || !cpu_req);

    // Byte enables that are no transfer of AHB (a misaligned access, split by the processor) are refused.
    reg [3:0] size_and_offset;
    reg       refused;
    always @* begin
        refused = 1'b0;
        case (cpu_be)
            4'b1111: size_and_offset = {2'd2, 2'd0};
            4'b0011: size_and_offset = {2'd1, 2'd0};
            4'b1100: size_and_offset = {2'd1, 2'd2};
            4'b0001: size_and_offset = {2'd0, 2'd0};
            4'b0010: size_and_offset = {2'd0, 2'd1};
            4'b0100: size_and_offset = {2'd0, 2'd2};
            4'b1000: size_and_offset = {2'd0, 2'd3};
            default: begin
                size_and_offset = {2'd2, 2'd0};
                refused = 1'b1;
            end
        endcase
    end

    wire cpu_offers = cpu_req && !dma_chosen;
    wire dma_offers = dma_req && dma_chosen;

    assign HTRANS = dma_offers ? (dma_first ? NONSEQ : SEQ) : (cpu_offers && !refused) ? NONSEQ : IDLE;
    assign HADDR = dma_chosen ? dma_addr : {cpu_addr[31:2], size_and_offset[1:0]};
    assign HWRITE = dma_chosen ? dma_we : cpu_we;
    assign HSIZE = dma_chosen ? 3'd2 : {1'b0, size_and_offset[3:2]};
    assign HBURST = dma_chosen ? dma_burst : 3'd0;
    assign cpu_gnt = cpu_offers && HREADY;
    assign dma_gnt = dma_offers && HREADY;

    // Whose data phase it is.
    reg cpu_data;
    reg dma_data;
    reg cpu_refused;
    assign cpu_rvalid = cpu_data && HREADY;
    assign cpu_err = cpu_refused || HRESP;
    assign dma_rvalid = dma_data && HREADY;
    assign dma_err = HRESP;

    always @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            held <= 1'b0;
            held_dma <= 1'b0;
            bursting <= 1'b0;
            cpu_data <= 1'b0;
            dma_data <= 1'b0;
            cpu_refused <= 1'b0;
            HWDATA <= 32'd0;
        end else begin
            held <= !HREADY && (HTRANS != IDLE);
            held_dma <= dma_chosen;
            if (HREADY) begin
                cpu_data <= cpu_offers;
                dma_data <= dma_offers;
                cpu_refused <= cpu_offers && refused;
                HWDATA <= dma_chosen ? dma_wdata : cpu_wdata;
                if (dma_offers) begin
                    bursting <= !dma_last;
                end
            end
        end
    end
    // The processor's byte enables say more.
    wire unused = &{1'b0, cpu_addr[1:0]};
endmodule

`default_nettype wire
