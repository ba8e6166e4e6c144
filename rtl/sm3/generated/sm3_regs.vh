// Generated from regs.rdl by generate.py; do not edit.
// Included inside a module: offsets of registers, lowest bits and widths of fields, and
// the constants that registers hold.
// verilator lint_off UNUSEDPARAM

localparam [11:0] ID_OFFSET = 12'h000;
localparam [31:0] ID_VALUE = 32'h534d3320;

localparam [11:0] VERSION_OFFSET = 12'h004;
localparam integer VERSION_MINOR_LSB = 0;
localparam integer VERSION_MINOR_WIDTH = 8;
localparam integer VERSION_MAJOR_LSB = 8;
localparam integer VERSION_MAJOR_WIDTH = 8;
localparam integer VERSION_ROUNDS_LSB = 16;
localparam integer VERSION_ROUNDS_WIDTH = 2;
localparam integer VERSION_BUFFERED_LSB = 18;

localparam [11:0] CTRL_OFFSET = 12'h008;
localparam integer CTRL_INIT_LSB = 0;
localparam integer CTRL_SWAP_IN_LSB = 1;
localparam integer CTRL_SWAP_OUT_LSB = 2;
localparam integer CTRL_DMA_ENABLE_LSB = 3;
localparam integer CTRL_DMA_EARLY_LSB = 8;
localparam integer CTRL_DMA_EARLY_WIDTH = 8;

localparam [11:0] STATUS_OFFSET = 12'h00c;
localparam integer STATUS_READY_LSB = 0;
localparam integer STATUS_BUSY_LSB = 1;
localparam integer STATUS_COUNT_LSB = 8;
localparam integer STATUS_COUNT_WIDTH = 5;

localparam [11:0] IRQ_ENABLE_OFFSET = 12'h010;
localparam integer IRQ_ENABLE_DONE_LSB = 0;
localparam integer IRQ_ENABLE_READY_LSB = 1;
localparam integer IRQ_ENABLE_ERROR_LSB = 2;

localparam [11:0] IRQ_STATUS_OFFSET = 12'h014;
localparam integer IRQ_STATUS_DONE_LSB = 0;
localparam integer IRQ_STATUS_READY_LSB = 1;
localparam integer IRQ_STATUS_ERROR_LSB = 2;

localparam [11:0] DIN_OFFSET = 12'h040;
localparam integer DIN_WORDS = 16;

localparam [11:0] DIGEST_OFFSET = 12'h080;
localparam integer DIGEST_WORDS = 8;

// verilator lint_on UNUSEDPARAM
