#!/bin/sh
# Everything that needs a real GPU, on a machine without cargo or network: known and random answers,
# compute-sanitizer, and the measurements. Takes the command as `cargo build --release` made it, elsewhere.
#
#   bench/device.sh [--manylane FILE] [--device cuda:0] [--output DIR] [--suite NAME]... [--part NAME]...
#                   [--random N] [--quick] [--faults FILE]
#
# part       what                                                                about, on an H100
# machine    what the machine is; `manylane info`                                a second
# answers    known answers and 100,000 random batches of messages and of blocks, each equal to the CPU
#                                                                                two minutes
# sum        a tree of files on every choice of devices, and by `cksum`          seconds
# faults     the same tree, while a GPU fails midway in each way that bench/faults.c knows;
#            FILE is what was built of it, if there is no `cc` here                a minute
# memcheck   compute-sanitizer memcheck of the answers, with few batches         a minute
# racecheck  the same with racecheck                                             a minute
# bench      manylane bench sm3-gpu                                              five minutes
# block-memcheck   memcheck of every kernel of the block ciphers and of the methods of others: known answers,
#            then a launch each on little data                                   a minute
# block-racecheck  the same with racecheck                                       a minute
# block      manylane bench aes-gpu sm4-gpu                                      four minutes
# profile    Nsight Compute on a launch of 1 GiB of each of these kernels: what they use of occupancy,
#            multiprocessors, memory and caches, into DIR/ncu.csv. NCU names the program  two minutes
# sha3-sum   the tree of files by SHA3-256                                       seconds
# sha3-memcheck  memcheck of every kernel of SHA-3 and of the methods of others: known answers, then a launch
#            each on little data                                                 a minute
# sha3-racecheck  the same with racecheck                                        a minute
# sha3       manylane bench sha3-gpu                                             four minutes
# sha3-profile   Nsight Compute on these, into DIR/ncu-sha3.csv                  a minute
#
# A suite is a list of parts: `sm3`, `block` and `sha3` have the machine, the answers, and their own. Without
# --suite and --part all parts, one after the other. The answers take N random batches (default 100000).
# A command is ended after LIMIT seconds (default 540). What each says is kept in DIR (default: gpu-results).
# Exit status 1 if one failed.
set -u

manylane=target/release/manylane
device=cuda:0
output=gpu-results
parts=
quick=
faults=
random=100000
limit=${LIMIT:-540}
sm3_parts='machine answers sum faults memcheck racecheck bench'
block_parts='block-memcheck block-racecheck block profile'
sha3_parts='sha3-sum sha3-memcheck sha3-racecheck sha3 sha3-profile'

usage() {
    sed -n '2,/^set -u/p' "$0" | sed -n 's/^# \{0,1\}//p'
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=--quick ;;
        --manylane | --device | --output | --suite | --part | --random | --faults)
            [ $# -ge 2 ] || usage
            case $1 in
                --manylane) manylane=$2 ;;
                --device) device=$2 ;;
                --output) output=$2 ;;
                --faults) faults=$2 ;;
                --part) parts="$parts $2" ;;
                --random) random=$2 ;;
                --suite)
                    case $2 in
                        sm3) parts="$parts $sm3_parts" ;;
                        block) parts="$parts machine answers $block_parts" ;;
                        sha3) parts="$parts machine answers $sha3_parts" ;;
                        *) usage ;;
                    esac
                    ;;
            esac
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[ -n "$parts" ] || parts="$sm3_parts $block_parts $sha3_parts"
if ! [ -x "$manylane" ]; then
    echo "$0: no program $manylane: build it with cargo build --release, or name it with --manylane" >&2
    exit 2
fi
mkdir -p "$output" || exit 2

machine() {
    uname -a
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi
    fi
    "$manylane" info
    # A machine whose driver finds no GPU must not pass.
    "$manylane" info --json | grep -q '"id": "'"$device"'"'
}

answers() {
    timeout "$limit" "$manylane" info --self-test=$random
}

# Lengths around blocks and pages, and enough files for several batches.
make_tree() {
    tree=$(mktemp -d) || return 1
    i=0
    while [ $i -lt 3000 ]; do
        head -c $((i * 37 % 20000)) /dev/urandom >"$tree/$i" || return 1
        i=$((i + 1))
    done
}

sum() {
    sum_of sm3
}

sha3_sum() {
    sum_of sha3-256
}

# One hash function of the tree, on every choice of devices, and by `cksum`.
sum_of() {
    make_tree || return 1
    status=0
    "$manylane" sum -a "$1" -r --device cpu "$tree" >"$output/sum-cpu.txt" || status=1
    for choice in "$device" all auto; do
        if "$manylane" sum -a "$1" -v -r --device "$choice" "$tree" | cmp - "$output/sum-cpu.txt"; then
            echo "$choice: the same digests"
        else
            status=1
        fi
    done
    # Coreutils have known SM3 from version 9.0 on, and SHA-3 under another name from 9.8 on.
    if [ "$1" = sm3 ] && cksum -a sm3 /dev/null >/dev/null 2>&1; then
        cksum --check --quiet "$output/sum-cpu.txt" || status=1
    else
        echo "not compared with cksum, which may not know $1"
    fi
    rm -r "$tree"
    return $status
}

# A launch or an allocation midway goes wrong: the digests are right all the same, and one line says
# that the GPU was given up. Where memory ends the GPU may do with what it has.
faults() {
    if [ -z "$faults" ]; then
        faults=$output/faults.so
        cc -shared -fPIC -O2 -o "$faults" "$(dirname "$0")/faults.c" || return 1
    fi
    case $faults in
        /*) ;;
        *) faults=$PWD/$faults ;;
    esac
    make_tree || return 1
    "$manylane" sum -r --device cpu "$tree" >"$output/faults-cpu.txt" || return 1
    # What comes before the first batch.
    counts=$(LD_PRELOAD=$faults FAULT=count "$manylane" sum --device "$device" "$tree/1" 2>&1 |
        sed -n 's/^fault: \([0-9]*\) launches, \([0-9]*\) allocations$/\1 \2/p')
    launches=${counts% *}
    allocations=${counts#* }
    [ "${launches:-0}" -gt 0 ] || return 1
    status=0
    for fault in refuse:$((launches + 4)) skip:$((launches + 4)) address:$((launches + 4)) \
        hang:$((launches + 4)) memory:$((allocations + 7)); do
        LD_PRELOAD=$faults FAULT=$fault timeout 50 "$manylane" sum -r --device "$device" "$tree" \
            >"$output/faults-sums.txt" 2>"$output/faults-said.txt"
        ended=$?
        given_up=$(grep -c "$device is given up" "$output/faults-said.txt")
        wanted=1
        case $fault in memory:*) wanted=$given_up ;; esac
        if [ $ended -eq 0 ] && cmp "$output/faults-sums.txt" "$output/faults-cpu.txt" &&
            grep -q '^fault: ' "$output/faults-said.txt" && [ "$given_up" -eq $wanted ]; then
            echo "$fault: the same digests, $given_up warnings"
        else
            echo "$fault: exit status $ended, $given_up warnings: WRONG"
            status=1
        fi
        cat "$output/faults-said.txt"
    done
    rm -r "$tree"
    return $status
}

# A tool of compute-sanitizer, and the command that it watches.
sanitizer() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "no compute-sanitizer on the PATH: part of NVIDIA's toolkit"
        return 1
    fi
    tool=$1
    shift
    timeout "$limit" compute-sanitizer --tool "$tool" --error-exitcode 1 "$manylane" "$@"
}

memcheck() {
    sanitizer memcheck info --self-test=200
}

racecheck() {
    sanitizer racecheck info --self-test=200
}

# 3 MiB: more than all multiprocessors take at a time, but not twice as much.
block_sanitizer() {
    sanitizer "$1" bench launch aes-gpu --device "$device" --bytes 3145728 &&
        sanitizer "$1" bench launch sm4-gpu --device "$device" --bytes 3145728
}

block_memcheck() {
    block_sanitizer memcheck
}

block_racecheck() {
    block_sanitizer racecheck
}

block() {
    timeout "$limit" "$manylane" bench aes-gpu sm4-gpu --device "$device" $quick -o "$output/block"
}

# A message for each thread of a few blocks.
sha3_memcheck() {
    sanitizer memcheck bench launch sha3-gpu --device "$device" --bytes 3145728
}

sha3_racecheck() {
    sanitizer racecheck bench launch sha3-gpu --device "$device" --bytes 3145728
}

sha3() {
    timeout "$limit" "$manylane" bench sha3-gpu --device "$device" $quick -o "$output/sha3"
}

profile() {
    profile_suites "$output/ncu.csv" aes-gpu sm4-gpu &&
        grep -q aes128_ctr "$output/ncu.csv" && grep -q sm4_ctr "$output/ncu.csv"
}

sha3_profile() {
    profile_suites "$output/ncu-sha3.csv" sha3-gpu && grep -q sha3_ "$output/ncu-sha3.csv"
}

# Kernels are launched on little data first, for their known answers: tables take the longest launch of each. Conflicts of banks are counted where the card has counters of these names.
profile_suites() {
    table=$1
    shift
    ncu=${NCU:-ncu}
    if ! command -v "$ncu" >/dev/null; then
        echo "no $ncu: part of NVIDIA's toolkit; NCU names it"
        return 1
    fi
    counters=
    known=$("$ncu" --query-metrics 2>/dev/null)
    for counter in l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld \
        l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld; do
        if echo "$known" | grep -q "^$counter "; then
            counters=$counters${counters:+,}$counter.sum
        fi
    done
    : >"$table"
    for suite in "$@"; do
        timeout "$limit" "$ncu" --csv --page details --print-units base --apply-rules no \
            --section SpeedOfLight --section MemoryWorkloadAnalysis --section Occupancy \
            ${counters:+--metrics "$counters"} \
            "$manylane" bench launch $suite --device "$device" >"$output/ncu-$suite.txt"
        status=$?
        # What is no row is for people.
        grep -v '^"' "$output/ncu-$suite.txt"
        [ $status -eq 0 ] || return 1
        ncu_rows <"$output/ncu-$suite.txt" >>"$table"
        rm "$output/ncu-$suite.txt"
    done
}

# The lines that tables are made of.
ncu_rows() {
    metrics='Duration|Compute \(SM\) Throughput|Memory Throughput|DRAM Throughput'
    metrics="$metrics|L1/TEX Cache Throughput|L2 Cache Throughput|L1/TEX Hit Rate|L2 Hit Rate"
    metrics="$metrics|Achieved Occupancy|Theoretical Occupancy|l1tex__[a-z0-9_.]*"
    grep -E "^\"ID\",|^\".*\",\"($metrics)\",\"[^\"]*\",\"[^\"]*\""
}

bench() {
    timeout "$limit" "$manylane" bench sm3-gpu --device "$device" $quick -o "$output/run"
}

failed=0
for part in $parts; do
    case $part in
        machine | answers | sum | faults | memcheck | racecheck | bench) ;;
        block-memcheck | block-racecheck | block | profile) ;;
        sha3-sum | sha3-memcheck | sha3-racecheck | sha3 | sha3-profile) ;;
        *) usage ;;
    esac
    echo "== $part"
    began=$(date +%s)
    "$(echo "$part" | tr - _)" >"$output/$part.txt" 2>&1
    status=$?
    tail -n 40 "$output/$part.txt"
    echo "== $part: exit status $status after $(($(date +%s) - began)) s"
    [ $status -eq 0 ] || failed=1
done
exit $failed
