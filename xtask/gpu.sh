#!/usr/bin/env bash
# Runs what `cargo x bundle` gathered, on a GPU machine that needs no Rust.
#
#   bash dist/gpu.sh OUT [ladder|logs|large|tests|sanitizer|bench|measure|counters|errors ...]
#
# OUT receives a log for each part. DEVICE=simt tries the script where there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?where the logs go}
shift
parts=${*:-ladder logs large tests sanitizer}
device=${DEVICE:-cuda}
sizes=${SIZES:-2^20,2^24,2^28}
steps=$(cd "$here/bin" && ls -d v[0-9]-* | sort)
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

# What a reader's own run prints, for the book: logs/ belongs into the run's folder of results/.
logs() {
    mkdir -p "$out/logs"
    for step in $steps small-sum; do
        [ -x "$here/bin/$step" ] && part "logs/$step.txt" "$here/bin/$step" --device "$device"
    done
}

# Beyond 2^32 elements: 17 GB of f32.
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

# Every step under all four tools; the gate of the stopwatch cannot work there, so nothing is timed.
sanitizer() {
    for tool in memcheck racecheck initcheck synccheck; do
        for step in $steps; do
            part "$tool-$step.txt" compute-sanitizer --tool "$tool" --error-exitcode 9 \
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

# Everything against its peers, and the block sizes: a folder for results/.
measure() {
    part measure.txt "$here/bin/ladder" measure --minutes "${MINUTES:-8}" --out "$out"
    local run
    run=$(ls -d "$out"/20*-* | tail -n 1)
    part sweep.txt "$here/bin/ladder" sweep --minutes 1 --out "$run"
    part python.txt python3 "$here/bin/python.py" --peers "$here/bin/libpeers.so" --minutes 1 --out "$run"
}

# Hardware counters: what the interpreter is held against, and what the book's ledgers show.
counters() {
    local commands problems=${PROBLEMS:---n 2^20,2^20+13,2^22 --type f32,i32 --threads 128,256,512}
    # shellcheck disable=SC2086
    commands=$("$here/bin/ladder" counters $problems | sed "s|ladder once|$here/bin/ladder once|")
    while read -r command; do
        part "ncu-$(sed 's/.*> //; s/.ncu$//' <<<"$command").txt" bash -c "cd '$out' && $command"
    done <<<"$commands"
    part counters.txt "$here/bin/ladder" counters --out "$out/counters.csv" --read "$out"/*.ncu
}

# What goes wrong on purpose: each is one sentence and a non-zero exit code.
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

for name in $parts; do "$name"; done
echo "$failed failed"
exit $((failed > 0))
