// A memory without wait states. With FILE_ARGUMENT, its words come from the file of that argument of the
// simulation (+rom=…).
`default_nettype none

module ahb_memory #(
    parameter integer ADDRESS_BITS = 16,
    parameter         FILE_ARGUMENT = "",
    parameter         WRITABLE = 1
) (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    input  wire [31:0] HADDR,
    input  wire [1:0]  HTRANS,
    input  wire        HWRITE,
    input  wire [2:0]  HSIZE,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output wire        HREADYOUT,
    output wire        HRESP,
    output wire [31:0] HRDATA
);
    localparam integer WORDS = 1 << (ADDRESS_BITS - 2);

    reg [31:0] words [0:WORDS-1];
    reg [8*256-1:0] file;
    initial begin
        if (FILE_ARGUMENT != "") begin
            if ($value$plusargs(FILE_ARGUMENT, file) == 0) begin
                $display("no argument +%0s", FILE_ARGUMENT);
                $fatal;
            end
            $readmemh(file, words);
        end
    end

    // The data phase: which word, and which of its bytes are written.
    reg [ADDRESS_BITS-3:0] index;
    reg [3:0]              lanes;
    reg                    failing;
    reg                    failed;
    wire selected = HSEL && HREADY && HTRANS[1];
    wire wrong = HWRITE && (WRITABLE == 0);

    assign HRDATA = words[index];
    assign HREADYOUT = !failing;
    assign HRESP = failing || failed;

    always @(posedge HCLK or negedge HRESETn) begin
        if (!HRESETn) begin
            index <= {ADDRESS_BITS - 2{1'b0}};
            lanes <= 4'd0;
            failing <= 1'b0;
            failed <= 1'b0;
        end else begin
            failing <= selected && wrong;
            failed <= failing;
            lanes <= 4'd0;
            if (selected) begin
                index <= HADDR[ADDRESS_BITS-1:2];
                if (HWRITE && !wrong) begin
                    case (HSIZE)
                        3'd0: lanes <= 4'b0001 << HADDR[1:0];
                        3'd1: lanes <= HADDR[1] ? 4'b1100 : 4'b0011;
                        default: lanes <= 4'b1111;
                    endcase
                end
            end
        end
    end

    always @(posedge HCLK) begin
        if (lanes[0]) words[index][7:0] <= HWDATA[7:0];
        if (lanes[1]) words[index][15:8] <= HWDATA[15:8];
        if (lanes[2]) words[index][23:16] <= HWDATA[23:16];
        if (lanes[3]) words[index][31:24] <= HWDATA[31:24];
    end
    wire unused = &{1'b0, HADDR[31:ADDRESS_BITS], HTRANS[0]};
endmodule

`default_nettype wire
