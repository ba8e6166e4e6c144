#!/bin/sh
# Everything that needs a real GPU, on a machine without cargo or network: known and random answers,
# compute-sanitizer, and the measurements. Takes the command as `cargo build --release` made it, elsewhere.
#
#   bench/device.sh [--manylane FILE] [--device cuda:0] [--output DIR] [--part NAME]... [--quick]
#
# part       what                                                                about, on an H100
# machine    what the machine is; `manylane info`                                a second
# answers    known answers and 100,000 random batches, each equal to the CPU     a minute
# sum        a tree of files on every choice of devices, and by `cksum`          seconds
# memcheck   compute-sanitizer memcheck of the answers, with few batches         a minute
# racecheck  the same with racecheck                                             a minute
# bench      manylane bench sm3-gpu                                              five minutes
#
# Without --part all of them, one after the other. A command is ended after LIMIT seconds (default 540).
# What each says is kept in DIR (default: gpu-results). Exit status 1 if one failed.
set -u

manylane=target/release/manylane
device=cuda:0
output=gpu-results
parts=
quick=
random=100000
limit=${LIMIT:-540}

usage() {
    sed -n '2,/^set -u/p' "$0" | sed -n 's/^# \{0,1\}//p'
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=--quick ;;
        --manylane | --device | --output | --part)
            [ $# -ge 2 ] || usage
            case $1 in
                --manylane) manylane=$2 ;;
                --device) device=$2 ;;
                --output) output=$2 ;;
                --part) parts="$parts $2" ;;
            esac
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[ -n "$parts" ] || parts='machine answers sum memcheck racecheck bench'
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

sum() {
    tree=$(mktemp -d) || return 1
    # Lengths around blocks and pages, and enough files for several batches.
    i=0
    while [ $i -lt 3000 ]; do
        head -c $((i * 37 % 20000)) /dev/urandom >"$tree/$i" || return 1
        i=$((i + 1))
    done
    status=0
    "$manylane" sum -r --device cpu "$tree" >"$output/sum-cpu.txt" || status=1
    for choice in "$device" all auto; do
        if "$manylane" sum -v -r --device "$choice" "$tree" | cmp - "$output/sum-cpu.txt"; then
            echo "$choice: the same digests"
        else
            status=1
        fi
    done
    # Coreutils have known SM3 from version 9.0 on.
    if cksum -a sm3 /dev/null >/dev/null 2>&1; then
        cksum --check --quiet "$output/sum-cpu.txt" || status=1
    else
        echo "cksum here does not know SM3: not compared with it"
    fi
    rm -r "$tree"
    return $status
}

sanitizer() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "no compute-sanitizer on the PATH: part of NVIDIA's toolkit"
        return 1
    fi
    timeout "$limit" compute-sanitizer --tool "$1" --error-exitcode 1 \
        "$manylane" info --self-test=200
}

memcheck() {
    sanitizer memcheck
}

racecheck() {
    sanitizer racecheck
}

bench() {
    timeout "$limit" "$manylane" bench sm3-gpu --device "$device" $quick -o "$output/run"
}

failed=0
for part in $parts; do
    case $part in
        machine | answers | sum | memcheck | racecheck | bench) ;;
        *) usage ;;
    esac
    echo "== $part"
    began=$(date +%s)
    "$part" >"$output/$part.txt" 2>&1
    status=$?
    tail -n 40 "$output/$part.txt"
    echo "== $part: exit status $status after $(($(date +%s) - began)) s"
    [ $status -eq 0 ] || failed=1
done
exit $failed
