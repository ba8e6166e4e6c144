// sm3_words with IN_RAM = 1: what the memory holds, by the names that its registers have without it, for the
// proof about the core. Inserted into sm3_words.
generate
    if (IN_RAM != 0) begin : f_memory
        for (i = 0; i < DEPTH; i = i + 1) begin : pair
            wire [31:0] a = memory.a[i];
            wire [31:0] e = memory.e[i];
        end
    end
endgenerate
