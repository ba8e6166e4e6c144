// An AHB-Lite master that plays a file of messages (stimulus.py says what is in it) to one sm3_ahb and compares
// digests. What it does on the bus in between is drawn at random from SEED: kinds of bursts, addresses in the
// window, IDLE and BUSY beats, another slave's transfers and waits.
`default_nettype none

// One process and its tasks: what it assigns at once nobody else reads at a rising edge.
/* verilator lint_off BLKSEQ */

module replay_master #(
    parameter integer ROUNDS_PER_CYCLE = 1,
    parameter integer INPUT_BUFFER = 0,
    parameter integer V_IN_RAM = 0,
    parameter [31:0] SEED = 32'd1
) (
    input wire clk,
    input wire rst_n,
    output reg finished,
    output reg failed,
    output reg [31:0] digests,
    output reg [63:0] cycles,
    output wire [7:0] longest
);

    localparam [1:0] IDLE = 2'd0, BUSY = 2'd1, NONSEQ = 2'd2, SEQ = 2'd3;
    localparam [2:0] INCR = 3'd1, INCR8 = 3'd5, INCR16 = 3'd7;
    localparam [11:0] CTRL = 12'h008, STATUS = 12'h00C, DIN = 12'h040, DIGEST = 12'h080;

    // What the file asks for.
    localparam [3:0] END = 4'd0, INIT = 4'd1, SEND = 4'd2, SAVE = 4'd3, RESTORE = 4'd4, CHECK = 4'd5, WRONG = 4'd6,
                     OPEN = 4'd7;

    // What is done with a data phase.
    localparam [2:0] NOTHING = 3'd0, POLL = 3'd1, STORE = 3'd2, COMPARE = 3'd3, REFUSED = 3'd4, AT_ONCE = 3'd5;

    // More cycles than any wait or poll takes.
    localparam [15:0] PATIENCE = 16'd2000;

    // The bus.
    reg hsel, hwrite;
    reg [11:0] haddr;
    reg [1:0] htrans;
    reg [2:0] hsize, hburst;
    reg [31:0] hwdata;
    wire [31:0] hrdata;
    wire hreadyout, hresp, irq, dma_req;
    reg here, other_ready;
    wire hready = here ? hreadyout : other_ready;
    wire [2:0] broken;

    sm3_ahb #(
        .ROUNDS_PER_CYCLE(ROUNDS_PER_CYCLE),
        .INPUT_BUFFER(INPUT_BUFFER),
        .V_IN_RAM(V_IN_RAM)
    ) slave (
        .HCLK(clk),
        .HRESETn(rst_n),
        .HSEL(hsel),
        .HADDR(haddr),
        .HTRANS(htrans),
        .HWRITE(hwrite),
        .HSIZE(hsize),
        .HBURST(hburst),
        .HWDATA(hwdata),
        .HREADY(hready),
        .HREADYOUT(hreadyout),
        .HRESP(hresp),
        .HRDATA(hrdata),
        .IRQ(irq),
        .DMA_REQ(dma_req)
    );

    ahb_rules rules (
        .clk(clk),
        .rst_n(rst_n),
        .bound(ROUNDS_PER_CYCLE == 2 ? 8'd34 : 8'd68),
        .HSEL(hsel),
        .HADDR(haddr),
        .transfer(htrans[1]),
        .HWRITE(hwrite),
        .HSIZE(hsize),
        .HREADY(hready),
        .HREADYOUT(hreadyout),
        .HRESP(hresp),
        .IRQ(irq),
        .DMA_REQ(dma_req),
        .broken(broken),
        .longest(longest)
    );

    // The file and the operation under way.
    integer file, got;
    reg [8*256-1:0] name;
    reg [31:0] word;
    reg [3:0] op;
    reg [15:0] left;  // words of the operation
    reg [3:0] slot;
    reg [1:0] stalls;  // 0 none, 3 most
    reg polling, polled;
    reg [31:0] saved [0:127];

    // The burst under way.
    reg [4:0] burst_left;
    reg [3:0] place, span;
    reg after_busy;
    reg ended;

    // The address phase on the bus and what its data phase is for; then that data phase.
    reg [31:0] a_data;
    reg [2:0] a_use, d_use;
    reg [6:0] a_slot, d_slot;
    reg [31:0] a_expected, d_expected;
    reg [2:0] a_waits;
    reg refused;
    reg [2:0] other_waits;
    reg [15:0] patience;

    // Marsaglia's xorshift: the same in every simulator.
    reg [31:0] drawn;
    task draw;
        begin
            drawn = drawn ^ (drawn << 13);
            drawn = drawn ^ (drawn >> 17);
            drawn = drawn ^ (drawn << 5);
        end
    endtask

    task get_word;
        begin
            got = $fscanf(file, "%h", word);
            if (got != 1) begin
                $display("FAIL: the file of messages ends too early");
                failed = 1'b1;
                word = 32'd0;
            end
        end
    endtask

    task get_operation;
        begin
            get_word;
            op = word[3:0];
            slot = word[7:4];
            left = word[31:16];
            burst_left = 5'd0;
            polling = op == SAVE || op == CHECK || op == OPEN;
            polled = 1'b0;
            case (op)
                SAVE, RESTORE, CHECK: left = 16'd8;
                OPEN: left = 16'd16;
                INIT: begin
                    left = 16'd1;
                    stalls = word[9:8];
                end
                WRONG: begin
                    left = 16'd1;
                    a_data = word;
                end
                default: ;  // END has no words, SEND says how many
            endcase
        end
    endtask

    task address_of;  // the next word's within the burst
        input [11:0] base;
        begin
            haddr <= base + {6'd0, place, 2'd0};
        end
    endtask

    // The start of a burst of any kind that fits the words that are left.
    task start_burst;
        begin
            draw;
            hburst <= drawn[2:0];
            span = 4'd15;
            case (drawn[2:0])
                3'd0: burst_left = 5'd1;
                3'd1: burst_left = {1'b0, drawn[11:8]} + 5'd1;
                3'd2, 3'd3: burst_left = 5'd4;
                3'd4, 3'd5: burst_left = 5'd8;
                3'd6, 3'd7: burst_left = 5'd16;
            endcase
            place = drawn[15:12];
            if ({11'd0, burst_left} > left || op == RESTORE) begin
                hburst <= 3'd0;
                burst_left = 5'd1;
            end else if (drawn[0])
                place = drawn[15:12] & ~(burst_left[3:0] - 4'd1);
            else
                span = burst_left[3:0] - 4'd1;
        end
    endtask

    task beat_send;
        begin
            htrans <= SEQ;
            if (burst_left == 5'd0) begin
                start_burst;
                htrans <= NONSEQ;
            end
            hwrite <= 1'b1;
            address_of(DIN);
            get_word;
            a_data = word;
            a_use = NOTHING;
            place = (place & ~span) | ((place + 4'd1) & span);
            burst_left = burst_left - 5'd1;
            left = left - 16'd1;
        end
    endtask

    // Words 0 to 7 of DIGEST or 0 to 15 of DIN, in one burst if nothing comes in between.
    task beat_in_order;
        input [11:0] base;
        input write;
        input [4:0] count;
        begin
            place = count[3:0] - left[3:0];
            htrans <= burst_left != 5'd0 ? SEQ : NONSEQ;
            hburst <= left[4:0] == count ? (count == 5'd16 ? INCR16 : INCR8) : INCR;
            hwrite <= write;
            address_of(base);
            a_slot = {slot, place[2:0]};
            burst_left = 5'd1;
            left = left - 16'd1;
        end
    endtask

    task beat_poll;
        begin
            if (!polled) begin
                htrans <= NONSEQ;
                hburst <= 3'd0;
                hwrite <= 1'b0;
                haddr <= STATUS;
                a_use = POLL;
                polled = 1'b1;
            end
        end
    endtask

    task beat_wrong;
        begin
            htrans <= NONSEQ;
            hburst <= a_data[10:8];
            hsize <= a_data[6:4];
            hwrite <= a_data[7];
            haddr <= a_data[27:16];
            a_use = REFUSED;
            left = 16'd0;
        end
    endtask

    task beat;
        begin
            case (op)
                INIT: begin
                    htrans <= NONSEQ;
                    hburst <= 3'd0;
                    hwrite <= 1'b1;
                    haddr <= CTRL;
                    a_data = {29'd0, slot[1:0], 1'b1};
                    left = 16'd0;
                end
                SEND: beat_send;
                RESTORE: begin
                    beat_in_order(DIGEST, 1'b1, 5'd8);
                    a_data = saved[a_slot];
                end
                SAVE: begin
                    beat_in_order(DIGEST, 1'b0, 5'd8);
                    a_use = STORE;
                end
                CHECK: begin
                    beat_in_order(DIGEST, 1'b0, 5'd8);
                    get_word;
                    a_expected = word;
                    a_use = COMPARE;
                end
                OPEN: begin
                    beat_in_order(DIN, 1'b1, 5'd16);
                    get_word;
                    a_data = word;
                    a_use = AT_ONCE;
                end
                WRONG: beat_wrong;
                default: begin
                    finished = ended;  // the last data phase has ended, too
                    ended = 1'b1;
                end
            endcase
        end
    endtask

    // A beat that moves nothing: IDLE, BUSY within a burst, or another slave's.
    task pause;
        begin
            draw;
            if (op == SEND && burst_left != 5'd0 && drawn[0]) begin
                htrans <= BUSY;
                address_of(DIN);
                after_busy = 1'b1;
            end else begin
                burst_left = 5'd0;
                haddr <= drawn[31:20];
                hwrite <= drawn[19];
                if (drawn[1]) begin
                    hsel <= 1'b0;
                    htrans <= drawn[2] ? NONSEQ : IDLE;
                    a_waits = drawn[5:3];
                end
            end
        end
    endtask

    task next_beat;
        begin
            hsel <= 1'b1;
            htrans <= IDLE;
            hsize <= 3'd2;
            a_use = NOTHING;
            a_waits = 3'd0;
            while (op != END && left == 16'd0)
                get_operation;
            draw;
            if (!after_busy && op != OPEN && {1'b0, drawn[6:5]} < {1'b0, stalls} && drawn[4:3] != 2'd0)
                pause;
            else begin
                after_busy = 1'b0;
                if (polling)
                    beat_poll;
                else
                    beat;
            end
        end
    endtask

    task fail;
        input [31:0] what;
        begin
            if (!failed)
                $display("FAIL: ROUNDS_PER_CYCLE %0d, INPUT_BUFFER %0d, digest %0d, cycle %0d: %0s",
                         ROUNDS_PER_CYCLE, INPUT_BUFFER, digests, cycles,
                         what == 0 ? "wrong digest" :
                         what == 1 ? "ERROR of a right transfer" :
                         what == 2 ? "no ERROR of a wrong transfer" :
                         what == 3 ? "a wait though READY" :
                         what == 4 ? "the slave stands still" : "a rule of ahb_rules.v is broken");
            failed = 1'b1;
        end
    endtask

    task end_data_phase;
        begin
            if (refused != (d_use == REFUSED))
                fail(refused ? 1 : 2);
            case (d_use)
                POLL: begin
                    polled = 1'b0;
                    polling = op == OPEN ? !hrdata[0] : hrdata[1];
                    if (!polling)
                        patience = 16'd0;
                end
                STORE: saved[d_slot] = hrdata;
                COMPARE: begin
                    if (hrdata !== d_expected)
                        fail(0);
                    if (d_slot[2:0] == 3'd7)
                        digests = digests + 32'd1;
                end
                default: ;
            endcase
        end
    endtask

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            here <= 1'b1;
            other_ready <= 1'b1;
            hsel <= 1'b1;
            htrans <= IDLE;
            hwrite <= 1'b0;
            haddr <= 12'd0;
            hsize <= 3'd2;
            hburst <= 3'd0;
            hwdata <= 32'd0;
            finished = 1'b0;
            failed = 1'b0;
            digests = 32'd0;
            cycles = 64'd0;
            drawn = SEED;
            op = INIT;
            left = 16'd0;
            slot = 4'd0;
            stalls = 2'd0;
            polling = 1'b0;
            polled = 1'b0;
            burst_left = 5'd0;
            place = 4'd0;
            span = 4'd0;
            after_busy = 1'b0;
            ended = 1'b0;
            a_data = 32'd0;
            a_expected = 32'd0;
            a_use = NOTHING;
            a_slot = 7'd0;
            a_waits = 3'd0;
            d_use = NOTHING;
            d_slot = 7'd0;
            d_expected = 32'd0;
            refused = 1'b0;
            other_waits = 3'd0;
            patience = 16'd0;
        end else if (!finished && !failed) begin
            cycles = cycles + 64'd1;
            patience = patience + 16'd1;
            if (patience == PATIENCE)
                fail(4);
            if (broken != 3'd0)
                fail(5);
            if (!hready) begin
                if (here && hresp)
                    refused = 1'b1;
                else if (here && d_use == AT_ONCE)
                    fail(3);
                if (!here) begin
                    other_waits = other_waits - 3'd1;
                    other_ready <= other_waits == 3'd0;
                end
            end else begin
                end_data_phase;
                if (!polling)
                    patience = 16'd0;
                here <= hsel;
                other_waits = a_waits;
                other_ready <= hsel || a_waits == 3'd0;
                hwdata <= hwrite ? a_data : ~a_data;
                d_use = a_use;
                d_slot = a_slot;
                d_expected = a_expected;
                refused = 1'b0;
                next_beat;
            end
        end

    initial begin
        if (!$value$plusargs("messages=%s", name)) begin
            $display("FAIL: +messages=FILE is missing");
            $finish;
        end
        file = $fopen(name, "r");
        if (file == 0) begin
            $display("FAIL: the file of messages cannot be read");
            $finish;
        end
    end

endmodule

/* verilator lint_on BLKSEQ */

`default_nettype wire
