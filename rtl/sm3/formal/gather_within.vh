// What gather_alone.vh assumes, where sm3_control is there. Inserted into sm3_gather after gather.vh.
always @* if (f_started)
    assert (given == f_left);
