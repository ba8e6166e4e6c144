// What the proofs assume of the bus, and all that they assume: AHB-Lite with any number of slaves.
// Inserted into sm3_ahb. A master that breaks any other rule of AHB is therefore covered too: addresses
// and kinds of transfer may change at will while the bus waits, bursts need not be bursts.

// The transfer in its data phase, as the rules see it: `f_here` says that the data phase is this
// slave's, `f_transfer` that it is of a NONSEQ or SEQ transfer.
reg f_here, f_transfer, f_write;
reg [11:0] f_address;
reg [2:0] f_size;
reg f_started;
initial f_started = 1'b0;

always @(posedge HCLK or negedge HRESETn)
    if (!HRESETn) begin
        f_here <= 1'b0;
        f_transfer <= 1'b0;
        f_write <= 1'b0;
        f_address <= 12'd0;
        f_size <= 3'd0;
    end else if (HREADY) begin
        f_here <= HSEL;
        f_transfer <= HSEL && HTRANS[1];
        f_write <= HWRITE;
        f_address <= HADDR;
        f_size <= HSIZE;
    end

always @(posedge HCLK)
    f_started <= 1'b1;

always @* begin
    // A trace begins in reset; reset may come again at any time.
    if (!f_started)
        assume (!HRESETn);
    // The interconnect passes on HREADYOUT while the data phase is this slave's. Otherwise HREADY is
    // another slave's, and free.
    if (f_here)
        assume (HREADY == HREADYOUT);
end
