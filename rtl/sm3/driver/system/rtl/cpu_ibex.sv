// The processor of the system: Ibex (lowRISC; RV32IMC and bit manipulation, two stages) with its register
// file, without cache, protection or debug. Its requests are as the core gives them; ahb_master makes
// transfers of them.
`default_nettype none

module cpu_ibex (
    input  wire        clk,
    input  wire        rst_n,
    output wire        instr_req,
    input  wire        instr_gnt,
    input  wire        instr_rvalid,
    output wire [31:0] instr_addr,
    input  wire [31:0] instr_rdata,
    output wire        data_req,
    input  wire        data_gnt,
    input  wire        data_rvalid,
    output wire        data_we,
    output wire [3:0]  data_be,
    output wire [31:0] data_addr,
    output wire [31:0] data_wdata,
    input  wire [31:0] data_rdata,
    input  wire        data_err,
    input  wire        irq,
    output wire        sleeping,
    output wire [31:0] pc
);
    // Multi-bit booleans of the core: on, off.
    localparam [3:0] MUBI_ON = 4'b0101;

    wire [4:0]  rf_raddr_a;
    wire [4:0]  rf_raddr_b;
    wire [4:0]  rf_waddr;
    wire        rf_we;
    wire [31:0] rf_wdata;
    wire [31:0] rf_rdata_a;
    wire [31:0] rf_rdata_b;
    wire [3:0]  core_busy;

    assign sleeping = !core_busy[0];
    // The instruction that is being decoded and executed, for the profile.
    assign pc = core.pc_id;

    ibex_core #(
        .RV32B(ibex_pkg::RV32BBalanced)
    ) core (
        .clk_i(clk), .rst_ni(rst_n), .hart_id_i(32'd0), .boot_addr_i(32'd0),
        .instr_req_o(instr_req), .instr_gnt_i(instr_gnt), .instr_rvalid_i(instr_rvalid),
        .instr_addr_o(instr_addr), .instr_rdata_i(instr_rdata), .instr_err_i(1'b0),
        .data_req_o(data_req), .data_gnt_i(data_gnt), .data_rvalid_i(data_rvalid), .data_we_o(data_we),
        .data_be_o(data_be), .data_addr_o(data_addr), .data_wdata_o(data_wdata), .data_rdata_i(data_rdata),
        .data_err_i(data_err),
        .rf_raddr_a_o(rf_raddr_a), .rf_raddr_b_o(rf_raddr_b), .rf_waddr_wb_o(rf_waddr), .rf_we_wb_o(rf_we),
        .rf_wdata_wb_ecc_o(rf_wdata), .rf_rdata_a_ecc_i(rf_rdata_a), .rf_rdata_b_ecc_i(rf_rdata_b),
        .ic_tag_rdata_i('{default: '0}), .ic_data_rdata_i('{default: '0}), .ic_scr_key_valid_i(1'b0),
        .irq_software_i(1'b0), .irq_timer_i(1'b0), .irq_external_i(irq), .irq_fast_i(15'd0), .irq_nm_i(1'b0),
        .debug_req_i(1'b0), .fetch_enable_i(ibex_pkg::ibex_mubi_t'(MUBI_ON)), .core_busy_o(core_busy),
        .dummy_instr_id_o(), .dummy_instr_wb_o(), .ic_tag_req_o(), .ic_tag_write_o(), .ic_tag_addr_o(),
        .ic_tag_wdata_o(), .ic_data_req_o(), .ic_data_write_o(), .ic_data_addr_o(), .ic_data_wdata_o(),
        .ic_scr_key_req_o(), .irq_pending_o(), .crash_dump_o(), .double_fault_seen_o(), .alert_minor_o(),
        .alert_major_internal_o(), .alert_major_bus_o()
    );

    ibex_register_file_ff registers (
        .clk_i(clk), .rst_ni(rst_n), .test_en_i(1'b0), .dummy_instr_id_i(1'b0), .dummy_instr_wb_i(1'b0),
        .raddr_a_i(rf_raddr_a), .rdata_a_o(rf_rdata_a), .raddr_b_i(rf_raddr_b), .rdata_b_o(rf_rdata_b),
        .waddr_a_i(rf_waddr), .wdata_a_i(rf_wdata), .we_a_i(rf_we), .err_o()
    );
endmodule

`default_nettype wire
