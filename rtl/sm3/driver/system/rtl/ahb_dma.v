// A DMA controller for blocks of 16 words, memory to peripheral: reads a block in a burst, waits for the
// request, writes it in an INCR16 burst.
//
// 0x0 SOURCE, 0x4 DESTINATION: addresses, aligned to 4 and 64. 0x8 BLOCKS: writing starts; writing 0 ends the
// transfer after the burst that runs. 0xC STATUS: [0] running, [1] error response met, [2] IRQ; writing
// lowers IRQ.
`default_nettype none

module ahb_dma (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    input  wire [3:0]  HADDR,
    input  wire [1:0]  HTRANS,
    input  wire        HWRITE,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output reg  [31:0] HRDATA,
    output reg         IRQ,
    input  wire        DMA_REQ,
    // To ahb_master.
    output wire        req,
    output wire        we,
    output wire        first,
    output wire        last,
    output wire [2:0]  burst,
    output wire [31:0] addr,
    output wire [31:0] wdata,
    input  wire        gnt,
    input  wire        rvalid,
    input  wire        err,
    input  wire [31:0] rdata
);
    localparam [1:0] STOPPED = 2'd0;
    localparam [1:0] READING = 2'd1;
    localparam [1:0] WAITING = 2'd2;
    localparam [1:0] WRITING = 2'd3;
    localparam [2:0] INCR = 3'b001;
    localparam [2:0] INCR16 = 3'b111;

    reg [1:0]  state;
    reg [31:0] source;
    reg [31:0] destination;
    reg [31:0] blocks;
    reg        error;
    reg [4:0]  asked;
    reg [4:0]  answered;
    reg [31:0] words [0:15];

    // Slave: the write of the data phase.
    reg       writing;
    reg [1:0] register;
    always @(posedge HCLK or negedge HRESETn) begin
        if (!HRESETn) begin
            writing <= 1'b0;
            register <= 2'd0;
        end else if (HREADY) begin
            writing <= HSEL && HTRANS[1] && HWRITE;
            register <= HADDR[3:2];
        end
    end
    always @* begin
        case (register)
            2'd0: HRDATA = source;
            2'd1: HRDATA = destination;
            2'd2: HRDATA = blocks;
            default: HRDATA = {29'd0, IRQ, error, state != STOPPED};
        endcase
    end

    // The request is looked at in the cycle of the first write's address, so that nothing lies between.
    wire go = (state == WRITING) || ((state == WAITING) && DMA_REQ);
    wire reading = state == READING;
    assign req = (reading || go) && !asked[4];
    assign we = !reading;
    assign addr = reading ? source : {destination[31:6], asked[3:0], 2'd0};
    // Bursts end at boundaries of 1 KiB.
    assign first = (asked == 5'd0) || (reading && (source[9:0] == 10'd0));
    assign last = (asked == 5'd15) || (reading && (source[9:0] == 10'h3FC));
    assign burst = reading ? INCR : INCR16;
    assign wdata = words[asked[3:0]];

    wire ended = (state != STOPPED) && rvalid && (err || (answered == 5'd15));
    always @(posedge HCLK or negedge HRESETn) begin
        if (!HRESETn) begin
            state <= STOPPED;
            source <= 32'd0;
            destination <= 32'd0;
            blocks <= 32'd0;
            error <= 1'b0;
            asked <= 5'd0;
            answered <= 5'd0;
            IRQ <= 1'b0;
        end else begin
            if (gnt) begin
                asked <= asked + 5'd1;
                if (reading) source <= source + 32'd4;
                else state <= WRITING;
            end
            if (rvalid && state != STOPPED) answered <= answered + 5'd1;
            if (ended) begin
                asked <= 5'd0;
                answered <= 5'd0;
                if (err || (blocks == 32'd0) || (!reading && (blocks == 32'd1))) begin
                    state <= STOPPED;
                    error <= err;
                    IRQ <= 1'b1;
                end else begin
                    state <= reading ? WAITING : READING;
                end
                if (!reading) blocks <= blocks - (blocks == 32'd0 ? 32'd0 : 32'd1);
            end
            if ((state == WAITING) && (blocks == 32'd0)) state <= STOPPED;
            if (writing && HREADY) begin
                case (register)
                    2'd0: if (state == STOPPED) source <= {HWDATA[31:2], 2'd0};
                    2'd1: if (state == STOPPED) destination <= HWDATA;
                    2'd2: begin
                        blocks <= HWDATA;
                        if (state == STOPPED && HWDATA != 32'd0) begin
                            state <= READING;
                            error <= 1'b0;
                            asked <= 5'd0;
                            answered <= 5'd0;
                        end
                    end
                    default: IRQ <= 1'b0;
                endcase
            end
        end
    end

    always @(posedge HCLK) begin
        if (reading && rvalid) words[answered[3:0]] <= rdata;
    end
    wire unused = &{1'b0, HADDR[1:0], HTRANS[0]};
endmodule

`default_nettype wire
