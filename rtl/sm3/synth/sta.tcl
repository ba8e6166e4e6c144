# Longest paths of a mapped netlist: ideal clock, no wires, a period of 1000 ns so that the slack tells
# the delay. Inputs come from the smallest buffer, outputs drive four 2-input NANDs; the reset is false.
read_liberty @LIBERTY@
read_verilog netlist.v
link_design @TOP@
create_clock -name clock -period 1000 [get_ports @CLOCK@]
set inputs [list]
foreach port [all_inputs] {
    set name [get_property $port full_name]
    if {$name ne "@CLOCK@" && $name ne "@RESET@"} { lappend inputs $port }
}
set_driving_cell -lib_cell @DRIVER@ $inputs
set_load @LOAD@ [all_outputs]
set_input_delay 0 -clock clock $inputs
set_output_delay 0 -clock clock [all_outputs]
set_false_path -from [get_ports @RESET@]

proc slack {group from to} {
    set ends [find_timing_paths -from $from -to $to]
    if {[llength $ends]} {
        puts "SLACK $group [get_property [lindex $ends 0] slack]"
        report_checks -from $from -to $to -digits 4 -fields {capacitance slew}
    }
}
slack reg_reg [all_registers -clock_pins] [all_registers -data_pins]
slack in_reg $inputs [all_registers -data_pins]
slack reg_out [all_registers -clock_pins] [all_outputs]
slack in_out $inputs [all_outputs]
