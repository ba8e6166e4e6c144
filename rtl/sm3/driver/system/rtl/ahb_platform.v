// What a firmware needs of its surroundings.
//
// 0x00 PRINT: a character to the output. 0x04 EXIT: ends the simulation with that code. 0x08 INPUT: the next
// byte of the file +input=…, or all ones. 0x0C PROFILE: 1 counts cycles by instruction, 0 does not.
// 0x10 CYCLES, 0x14 SLEPT, 0x18 WAITED: clocks since reset, those of them in which the processor slept, and
// those in which the bus waited.
`default_nettype none

module ahb_platform (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    input  wire [4:0]  HADDR,
    input  wire [1:0]  HTRANS,
    input  wire        HWRITE,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output reg  [31:0] HRDATA,
    input  wire        sleeping,
    input  wire        stopped,
    output reg         profiling,
    output reg         exiting,
    output reg  [7:0]  exit_code
);
    reg [31:0] cycles;
    reg [31:0] slept;
    reg [31:0] waited;
    reg [31:0] character;
    reg        accessed;
    reg        written;
    reg [2:0]  register;

    integer input_file;
    reg [8*256-1:0] input_name;
    initial begin
        input_file = 0;
        if ($value$plusargs("input=%s", input_name) != 0) begin
            input_file = $fopen(input_name, "rb");
            if (input_file == 0) begin
                $display("cannot open %0s", input_name);
                $fatal;
            end
        end
    end

    always @* begin
        case (register)
            3'd2: HRDATA = character;
            3'd4: HRDATA = cycles;
            3'd5: HRDATA = slept;
            3'd6: HRDATA = waited;
            default: HRDATA = 32'd0;
        endcase
    end

    wire reads_input = HSEL && HREADY && HTRANS[1] && !HWRITE && (HADDR[4:2] == 3'd2);
    always @(posedge HCLK) begin
        if (reads_input) character <= (input_file == 0) ? 32'hFFFF_FFFF : $fgetc(input_file);
        if (accessed && written && HREADY && (register == 3'd0)) $write("%c", HWDATA[7:0]);
    end

    always @(posedge HCLK or negedge HRESETn) begin
        if (!HRESETn) begin
            cycles <= 32'd0;
            slept <= 32'd0;
            waited <= 32'd0;
            accessed <= 1'b0;
            written <= 1'b0;
            register <= 3'd0;
            profiling <= 1'b0;
            exiting <= 1'b0;
            exit_code <= 8'd0;
        end else begin
            cycles <= cycles + 32'd1;
            if (sleeping) slept <= slept + 32'd1;
            if (stopped) waited <= waited + 32'd1;
            if (HREADY) begin
                accessed <= HSEL && HTRANS[1];
                written <= HWRITE;
                register <= HADDR[4:2];
            end
            if (accessed && written && HREADY) begin
                case (register)
                    3'd1: begin
                        exiting <= 1'b1;
                        exit_code <= HWDATA[7:0];
                    end
                    3'd3: profiling <= HWDATA[0];
                    default: ;
                endcase
            end
        end
    end
    wire unused = &{1'b0, HADDR[1:0], HTRANS[0], HWDATA[31:8]};
endmodule

`default_nettype wire
