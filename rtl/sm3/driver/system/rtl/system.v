// A small system: Ibex, ROM and RAM, the SM3 core, the paper's core, a DMA controller and the platform's
// registers. Instructions come over a bus of their own; everything else is on one AHB-Lite layer that the
// processor shares with the DMA controller.
//
//   0x0000_0000 ROM, 64 KiB      0x2000_0000 sm3_ahb         0x3000_0000 platform
//   0x1000_0000 RAM, 128 KiB     0x2000_1000 sm3_paper_ahb   0x3000_1000 DMA controller
`default_nettype none

module system #(
    parameter integer ROUNDS_PER_CYCLE = 1,
    parameter integer INPUT_BUFFER = 0
) (
    input  wire        clk,
    input  wire        rst_n,
    output wire        profiling,
    output wire        exiting,
    output wire [7:0]  exit_code,
    output wire        sleeping,
    output wire [31:0] pc
);
    wire        instr_req;
    wire        instr_rvalid;
    wire [31:0] instr_addr;
    wire [31:0] instr_rdata;
    wire        cpu_req;
    wire        cpu_gnt;
    wire        cpu_rvalid;
    wire        cpu_we;
    wire [3:0]  cpu_be;
    wire [31:0] cpu_addr;
    wire [31:0] cpu_wdata;
    wire        cpu_err;
    wire        irq_sm3;
    wire        irq_dma;

    wire [31:0] HADDR;
    wire [1:0]  HTRANS;
    wire        HWRITE;
    wire [2:0]  HSIZE;
    wire [2:0]  HBURST;
    wire [31:0] HWDATA;
    wire [31:0] HRDATA;
    wire        HREADY;
    wire        HRESP;

    cpu_ibex cpu (
        .clk(clk), .rst_n(rst_n),
        .instr_req(instr_req), .instr_gnt(instr_req), .instr_rvalid(instr_rvalid), .instr_addr(instr_addr),
        .instr_rdata(instr_rdata),
        .data_req(cpu_req), .data_gnt(cpu_gnt), .data_rvalid(cpu_rvalid), .data_we(cpu_we), .data_be(cpu_be),
        .data_addr(cpu_addr), .data_wdata(cpu_wdata), .data_rdata(HRDATA), .data_err(cpu_err),
        .irq(irq_sm3 || irq_dma), .sleeping(sleeping), .pc(pc)
    );

    // Instructions: the ROM's other port, never waiting.
    reg instr_data;
    always @(posedge clk or negedge rst_n) begin
        if (!rst_n) instr_data <= 1'b0;
        else instr_data <= instr_req;
    end
    assign instr_rvalid = instr_data;
    ahb_memory #(.ADDRESS_BITS(16), .FILE_ARGUMENT("rom=%s"), .WRITABLE(0)) rom_instructions (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(1'b1), .HADDR(instr_addr), .HTRANS({instr_req, 1'b0}), .HWRITE(1'b0),
        .HSIZE(3'd2), .HWDATA(32'd0), .HREADY(1'b1), .HREADYOUT(), .HRESP(), .HRDATA(instr_rdata)
    );

    wire        dma_req;
    wire        dma_we;
    wire        dma_first;
    wire        dma_last;
    wire [2:0]  dma_burst;
    wire [31:0] dma_addr;
    wire [31:0] dma_wdata;
    wire        dma_gnt;
    wire        dma_rvalid;
    wire        dma_err;
    ahb_master master (
        .clk(clk), .rst_n(rst_n),
        .cpu_req(cpu_req), .cpu_we(cpu_we), .cpu_be(cpu_be), .cpu_addr(cpu_addr), .cpu_wdata(cpu_wdata),
        .cpu_gnt(cpu_gnt), .cpu_rvalid(cpu_rvalid), .cpu_err(cpu_err),
        .dma_req(dma_req), .dma_we(dma_we), .dma_first(dma_first), .dma_last(dma_last), .dma_burst(dma_burst),
        .dma_addr(dma_addr), .dma_wdata(dma_wdata), .dma_gnt(dma_gnt), .dma_rvalid(dma_rvalid), .dma_err(dma_err),
        .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE), .HSIZE(HSIZE), .HBURST(HBURST), .HWDATA(HWDATA),
        .HREADY(HREADY), .HRESP(HRESP)
    );

    // Slaves: 0 ROM, 1 RAM, 2 SM3, 3 paper, 4 platform, 5 DMA, 6 nothing.
    localparam integer SLAVES = 7;
    reg [SLAVES-1:0] select;
    always @* begin
        select = {SLAVES{1'b0}};
        case (HADDR[31:28])
            4'h0: select[0] = HADDR[27:16] == 12'd0;
            4'h1: select[1] = HADDR[27:17] == 11'd0;
            4'h2: {select[3], select[2]} = {HADDR[27:12] == 16'd1, HADDR[27:12] == 16'd0};
            4'h3: {select[5], select[4]} = {HADDR[27:12] == 16'd1, HADDR[27:12] == 16'd0};
            default: ;
        endcase
        select[6] = select[5:0] == 6'd0;
    end

    // The slave of the data phase.
    reg [SLAVES-1:0] answering;
    always @(posedge clk or negedge rst_n) begin
        if (!rst_n) answering <= {SLAVES{1'b0}};
        else if (HREADY) answering <= HTRANS[1] ? select : {SLAVES{1'b0}};
    end

    wire [31:0] rdata_rom;
    wire [31:0] rdata_ram;
    wire [31:0] rdata_sm3;
    wire [31:0] rdata_paper;
    wire [31:0] rdata_platform;
    wire [31:0] rdata_dma;
    wire [3:0]  readyout;
    wire [3:0]  resp;
    reg         lost_waiting;
    assign HREADY = !((answering[3:0] & ~readyout) != 4'd0 || (answering[6] && lost_waiting));
    assign HRESP = (answering[3:0] & resp) != 4'd0 || answering[6];
    assign HRDATA = ({32{answering[0]}} & rdata_rom) | ({32{answering[1]}} & rdata_ram)
                  | ({32{answering[2]}} & rdata_sm3) | ({32{answering[3]}} & rdata_paper)
                  | ({32{answering[4]}} & rdata_platform) | ({32{answering[5]}} & rdata_dma);

    // An address without a slave: the two cycles of ERROR.
    always @(posedge clk or negedge rst_n) begin
        if (!rst_n) lost_waiting <= 1'b0;
        else lost_waiting <= HREADY && HTRANS[1] && select[6];
    end

    ahb_memory #(.ADDRESS_BITS(16), .FILE_ARGUMENT("rom=%s"), .WRITABLE(0)) rom (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[0]), .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HSIZE(HSIZE), .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(readyout[0]), .HRESP(resp[0]),
        .HRDATA(rdata_rom)
    );
    ahb_memory #(.ADDRESS_BITS(17)) ram (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[1]), .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HSIZE(HSIZE), .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(readyout[1]), .HRESP(resp[1]),
        .HRDATA(rdata_ram)
    );

    wire request;
    sm3_ahb #(.ROUNDS_PER_CYCLE(ROUNDS_PER_CYCLE), .INPUT_BUFFER(INPUT_BUFFER)) sm3 (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[2]), .HADDR(HADDR[11:0]), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HSIZE(HSIZE), .HBURST(HBURST), .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(readyout[2]),
        .HRESP(resp[2]), .HRDATA(rdata_sm3), .IRQ(irq_sm3), .DMA_REQ(request)
    );
    sm3_paper_ahb #(.WIDE(0)) paper (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[3]), .HADDR(HADDR[11:0]), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(readyout[3]), .HRESP(resp[3]),
        .HRDATA(rdata_paper)
    );

    ahb_platform platform (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[4]), .HADDR(HADDR[4:0]), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HWDATA(HWDATA), .HREADY(HREADY), .HRDATA(rdata_platform), .sleeping(sleeping), .stopped(!HREADY),
        .profiling(profiling), .exiting(exiting), .exit_code(exit_code)
    );

    ahb_dma dma (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(select[5]), .HADDR(HADDR[3:0]), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HWDATA(HWDATA), .HREADY(HREADY), .HRDATA(rdata_dma), .IRQ(irq_dma), .DMA_REQ(request),
        .req(dma_req), .we(dma_we), .first(dma_first), .last(dma_last), .burst(dma_burst), .addr(dma_addr),
        .wdata(dma_wdata), .gnt(dma_gnt), .rvalid(dma_rvalid), .err(dma_err), .rdata(HRDATA)
    );
endmodule

`default_nettype wire
