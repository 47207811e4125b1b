#!/usr/bin/env bash
# Runs the programs that `cargo x bundle` collected, on a GPU machine without Rust.
#
#   bash dist/gpu.sh OUT [ladder|logs|large|tests|sanitizer|bench|measure|counters|errors|zoo|cupti|rows|matrices|exact ...]
#
# OUT receives a log for each part. With DEVICE=simt, the script runs without a GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?name the folder for the logs}
shift
parts=${*:-ladder logs large tests sanitizer}
device=${DEVICE:-cuda}
sizes=${SIZES:-2^20,2^24,2^28}
steps=$(cd "$here/bin" && ls -d v[0-9]*-* | sort -V)
failed=0
mkdir -p "$out"

part() { # a log, a command
    local log=$1 start=$SECONDS
    shift
    if "$@" >"$out/$log" 2>&1; then
        echo "ok      $log ($((SECONDS - start)) s)"
    else
        echo "FAILED  $log ($((SECONDS - start)) s, exit $?): $(tail -n 1 "$out/$log")"
        failed=$((failed + 1))
    fi
}

ladder() {
    part ladder.txt "$here/bin/ladder" --device "$device" --n "$sizes" --type f32,i32,f64
    part ladder.json "$here/bin/ladder" --device "$device" --n "$sizes" --type f32,i32,f64 --format json
    part ladder-warm.txt "$here/bin/ladder" --device "$device" --n "$sizes" --warm
}

# Records the output of a reader's run for the book, and writes a folder for results/logs.
logs() {
    local name folder
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=logs/$(date +%F)-${name:-no-gpu}
    mkdir -p "$out/$folder"
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader >"$out/$folder/machine.txt" 2>&1
    for step in $steps small-sum; do
        [ -x "$here/bin/$step" ] && part "$folder/$step.txt" "$here/bin/$step" --device "$device"
    done
}

# Tests sums of more than 2^32 elements, which are 17 GB of f32.
large() {
    for step in v0-naive v6-shuffle; do
        part "large-$step.txt" "$here/bin/$step" --device "$device" --n "${LARGE:-2^32+13}" --samples 11
    done
}

tests() {
    for test in "$here"/test/*; do
        REDUCE_REQUIRE_GPU=$([ "$device" = simt ] || echo 1) part "test-$(basename "$test").txt" "$test"
    done
}

# Runs every step under all four tools. Nothing is timed, because GPU-gating does not work under
# these tools.
sanitizer() {
    local tool step more
    for tool in memcheck racecheck initcheck synccheck; do
        # A ring has a barrier for each stage in each block, so there are more barriers than
        # synccheck tracks by default.
        more=()
        [ "$tool" = synccheck ] && more=(--num-cuda-barriers 65536)
        for step in $steps; do
            part "$tool-$step.txt" compute-sanitizer --tool "$tool" "${more[@]}" --error-exitcode 9 \
                "$here/bin/$step" --device "$device" --n 1,31,1000,2^20+13 --samples 0
        done
    done
}

bench() {
    export CRITERION_HOME=$out/criterion
    for bench in "$here"/bench/*; do
        part "bench-$(basename "$bench").txt" "$bench" --bench --noplot
    done
}

# Measures every step and its peers, and all block sizes, and writes a folder for results/ladder.
measure() {
    part measure.txt "$here/bin/ladder" measure --minutes "${MINUTES:-8}" --out "$out"
    local run
    run=$(ls -d "$out"/20*-* | tail -n 1)
    part sweep.txt "$here/bin/ladder" sweep --minutes 1 --out "$run"
    part python.txt python3 "$here/bin/python.py" --peers "$here/bin/libpeers.so" --minutes 1 --out "$run"
}

# Reads hardware counters, which are compared with the interpreter's counts and shown in the book's
# ledgers.
counters() {
    local commands problems=${PROBLEMS:---n 2^20,2^20+13,2^22 --type f32,i32 --threads 128,256,512}
    # shellcheck disable=SC2086
    commands=$("$here/bin/ladder" counters $problems | sed "s|ladder once|$here/bin/ladder once|")
    while read -r command; do
        part "ncu-$(sed 's/.*> //; s/.ncu$//' <<<"$command").txt" bash -c "cd '$out' && $command"
    done <<<"$commands"
    part counters.txt "$here/bin/ladder" counters --out "$out/counters.csv.gz" --read "$out"/*.ncu
}

# Provokes errors: each prints one sentence and returns a non-zero exit code.
errors() {
    local step=$here/bin/v3-first-add ptx=$out/ptx
    mkdir -p "$ptx"
    printf '.version 9.9\n.target sm_60\n.address_size 64\n' >"$ptx/newer-version.ptx"
    printf '.version 8.7\n.target sm_120\n.address_size 64\n' >"$ptx/newer-target.ptx"
    printf '.version 8.4\n.target sm_60\n.address_size 64\n.visible .entry reduce() { nonsense; }\n' >"$ptx/nonsense.ptx"
    printf '.version 8.4\n.target sm_60\n.address_size 64\n.visible .entry other() { ret; }\n' >"$ptx/no-entry.ptx"
    for args in "--device cuda:7" "--device cuda --n 2^40" "--device cuda --threads 48" \
        "--kernel $ptx/newer-version.ptx" "--kernel $ptx/newer-target.ptx" \
        "--kernel $ptx/nonsense.ptx" "--kernel $ptx/no-entry.ptx"; do
        # shellcheck disable=SC2086
        "$step" $args >>"$out/errors.txt" 2>&1
        echo "exit $? for ${args//$ptx\//}" | tee -a "$out/errors.txt"
    done
}

# Runs each broken sum 1000 times without a tool and ten times under each tool. Writes a log for
# each of them, and zoo.csv, from which the book's table is made. Some broken sums hang the GPU, so
# each run has a time limit. ZOO selects some of them.
zoo() {
    local bugs=${ZOO:-$("$here/bin/ladder" zoo)} limit=${ZOO_SECONDS:-20} shared= name folder
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=$out/zoo/$(date +%F)-${name:-no-gpu}
    mkdir -p "$folder"
    {
        nvidia-smi --query-gpu=name,driver_version --format=csv
        compute-sanitizer --version
    } >"$folder/machine.txt" 2>&1
    # Shared memory is checked too, if this version of the tool supports it.
    compute-sanitizer --tool initcheck --initcheck-address-space all true >/dev/null 2>&1 &&
        shared="--initcheck-address-space all"
    echo "options of initcheck:${shared:- none}" >>"$folder/machine.txt"
    echo "bug,tool,exit,seconds,runs,right,wrong,reports,error" >"$folder/zoo.csv"
    for bug in $bugs; do
        for tool in plain memcheck racecheck initcheck synccheck; do
            one_of_the_zoo "$bug" "$tool" "$folder" "$limit" "$shared"
        done
    done
}

# Records a step's profile and counters with CUPTI, and writes a folder for results/cupti. The
# driver's cache is disabled, so that the first call includes compilation.
cupti() {
    local name folder step=("$here/bin/v1-divergence" --device "$device" --n 2^20)
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=$out/cupti/$(date +%F)-${name:-no-gpu}
    mkdir -p "$folder"
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv >"$folder/machine.txt" 2>&1
    CUDA_CACHE_DISABLE=1 "${step[@]}" --profile="$folder/trace.json" >"$folder/profile.txt" 2>&1
    "${step[@]}" --counters >"$folder/counters.txt" 2>&1
    part cupti.txt "$here/bin/ladder" counters --from cupti --out "$folder/counters.csv.gz" --device "$device" \
        --n 2^20,2^20+13 --type f32,i32 --threads 128,256,512
}

# Compares sums of rows of any length with CUB and torch, and writes a folder for results/rows.
# Takes two and a half minutes.
rows() {
    local name folder what
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=$out/rows/$(date +%F)-${name:-no-gpu}
    rows_of() { # a folder, options
        local what=$1
        shift
        part "rows-$what.txt" "$here/bin/ladder" rows --device "$device" --cub "$here/bin/librows.so" --out "$folder/$what" "$@"
        part "rows-$what-python.txt" python3 "$here/bin/rows.py" --peers "$here/bin/librows.so" --rounds 16 --out "$folder/$what"
    }
    rows_of drawn --drawn 100 --rounds 20
    rows_of powers --rounds 30
    rows_of small --total 2^16,2^20,2^24 --rounds 30 --n "1,2,3,4,8,9,16,32,33,64,100,128,256,512,1000,2^10,2^11,2^12,5001,$(seq -s , -f '2^%.0f' 13 24)"
    rows_of map --map --rounds 12
    part rows-study.txt python3 "$here/bin/row_sum.py" --ptx "$here/bin/row-sum-ptx" --rounds 24 --out "$folder/study"
    part rows-counters.txt "$here/bin/ladder" counters --device "$device" --from cupti --only row-sum,matrix-sum --n 2^20 \
        --threads 256 --out "$folder/counters.csv.gz"
    for what in memcheck racecheck initcheck synccheck; do
        part "$what-rows.txt" compute-sanitizer --tool "$what" --error-exitcode 9 "$here/bin/ladder" rows \
            --device "$device" --cub /nonexistent --total 2^18 --rounds 2 \
            --n 1,3,33,257,513,4097,5000,12289,20001,49153,65536,100003,200001
    done
}

# Measures the kernels of matrix-sum, files in pieces, and divisions of the work between GPU and
# CPU, and writes a folder for results/matrices.
matrices() {
    local name folder study tool ways
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=$out/matrices/$(date +%F)-${name:-no-gpu}
    part matrices.txt "$here/bin/matrix-sum" measure --device "$device" --volume 2^29 --bytes 2^30 --out "$folder"
    ways=$(printf '%s-row,%s-column,' $(printf '%s %s ' {naive,compressed,banks,first,unrolled,wide,one-pass}{,}))
    part matrices-ways.txt "$here/bin/ladder" measure --device "$device" --minutes 0.4 --n 2^20,2^24,2^28 --type f32 \
        --cache cold --only "${ways}reduce,read-only" --out "$folder/measure"
    mv "$folder"/measure/20* "$folder/ways"
    rmdir "$folder/measure"
    for study in row-sum matrix-sum; do
        for tool in memcheck racecheck initcheck synccheck; do
            part "$tool-$study.txt" compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$here/bin/$study" --device "$device" --n 1,31,1000,2^16+13 --samples 0
        done
    done
}

# Compares exact sums with the plain sum for many kinds of data, tests exact sums, and writes a folder
# for results/exact.
exact() {
    local name folder to=()
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-')
    folder=$out/exact/$(date +%F)-${name:-no-gpu}
    mkdir -p "$folder"
    # The interpreter has counts, but no times to write.
    [ "$device" = simt ] || to=(--out "$folder")
    REDUCE_REQUIRE_GPU=$([ "$device" = simt ] || echo 1) part test-exact.txt "$here/test/reduce.gpu" exact
    part exact.txt "$here/bin/ladder" exact --device "$device" "${to[@]}"
}

one_of_the_zoo() { # bug, tool, folder, seconds, options of initcheck
    local bug=$1 tool=$2 log=$3/$2-$1.txt limit=$4 start=$SECONDS runs=10 tally reports code
    local around=(compute-sanitizer --tool "$tool" --print-limit 5)
    # shellcheck disable=SC2206
    [ "$tool" = initcheck ] && around+=($5)
    [ "$tool" = plain ] && around=() runs=1000
    timeout -s KILL "$limit" "${around[@]}" "$here/bin/ladder" zoo "$bug" --device "$device" --runs "$runs" \
        >"$log" 2>&1
    code=$?
    # The tally has the form `right 3 wrong 7 error none`; it is empty if the run was stopped.
    tally=$(grep -m 1 '^right [0-9]* wrong [0-9]* error ' "$log")
    # The number comes from the last line of the form `ERROR SUMMARY: 12 errors` or `RACECHECK
    # SUMMARY: 2 hazards displayed`.
    reports=$(sed -nE 's/.*SUMMARY: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
    sed -nE 's/^right ([0-9]+) wrong ([0-9]+) error (.*)$/\1,\2,\3/p' <<<"$tally" | {
        IFS=, read -r right wrong error
        error=${error//\"/\'}
        echo "$bug,$tool,$code,$((SECONDS - start)),$runs,${right:-},${wrong:-},${reports:-},\"${error:-}\""
    } >>"$3/zoo.csv"
    tail -n 1 "$3/zoo.csv"
}

for name in $parts; do "$name"; done
echo "$failed failed"
exit $((failed > 0))
