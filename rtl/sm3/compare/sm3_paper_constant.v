// T_j <<< j for every round, computed in advance.
`default_nettype none

module sm3_paper_constant (
    input  wire [5:0]  j,
    output reg  [31:0] T
);
    always @*
        case (j)
            6'd0: T = 32'h79cc4519;
            6'd1: T = 32'hf3988a32;
            6'd2: T = 32'he7311465;
            6'd3: T = 32'hce6228cb;
            6'd4: T = 32'h9cc45197;
            6'd5: T = 32'h3988a32f;
            6'd6: T = 32'h7311465e;
            6'd7: T = 32'he6228cbc;
            6'd8: T = 32'hcc451979;
            6'd9: T = 32'h988a32f3;
            6'd10: T = 32'h311465e7;
            6'd11: T = 32'h6228cbce;
            6'd12: T = 32'hc451979c;
            6'd13: T = 32'h88a32f39;
            6'd14: T = 32'h11465e73;
            6'd15: T = 32'h228cbce6;
            6'd16: T = 32'h9d8a7a87;
            6'd17: T = 32'h3b14f50f;
            6'd18: T = 32'h7629ea1e;
            6'd19: T = 32'hec53d43c;
            6'd20: T = 32'hd8a7a879;
            6'd21: T = 32'hb14f50f3;
            6'd22: T = 32'h629ea1e7;
            6'd23: T = 32'hc53d43ce;
            6'd24: T = 32'h8a7a879d;
            6'd25: T = 32'h14f50f3b;
            6'd26: T = 32'h29ea1e76;
            6'd27: T = 32'h53d43cec;
            6'd28: T = 32'ha7a879d8;
            6'd29: T = 32'h4f50f3b1;
            6'd30: T = 32'h9ea1e762;
            6'd31: T = 32'h3d43cec5;
            6'd32: T = 32'h7a879d8a;
            6'd33: T = 32'hf50f3b14;
            6'd34: T = 32'hea1e7629;
            6'd35: T = 32'hd43cec53;
            6'd36: T = 32'ha879d8a7;
            6'd37: T = 32'h50f3b14f;
            6'd38: T = 32'ha1e7629e;
            6'd39: T = 32'h43cec53d;
            6'd40: T = 32'h879d8a7a;
            6'd41: T = 32'h0f3b14f5;
            6'd42: T = 32'h1e7629ea;
            6'd43: T = 32'h3cec53d4;
            6'd44: T = 32'h79d8a7a8;
            6'd45: T = 32'hf3b14f50;
            6'd46: T = 32'he7629ea1;
            6'd47: T = 32'hcec53d43;
            6'd48: T = 32'h9d8a7a87;
            6'd49: T = 32'h3b14f50f;
            6'd50: T = 32'h7629ea1e;
            6'd51: T = 32'hec53d43c;
            6'd52: T = 32'hd8a7a879;
            6'd53: T = 32'hb14f50f3;
            6'd54: T = 32'h629ea1e7;
            6'd55: T = 32'hc53d43ce;
            6'd56: T = 32'h8a7a879d;
            6'd57: T = 32'h14f50f3b;
            6'd58: T = 32'h29ea1e76;
            6'd59: T = 32'h53d43cec;
            6'd60: T = 32'ha7a879d8;
            6'd61: T = 32'h4f50f3b1;
            6'd62: T = 32'h9ea1e762;
            default: T = 32'h3d43cec5;
        endcase
endmodule

`default_nettype wire
