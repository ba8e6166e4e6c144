// For sm3_gather by itself: sm3_control counts the pairs that it takes. Inserted after gather.vh.
always @*
    assume (given == f_left);
