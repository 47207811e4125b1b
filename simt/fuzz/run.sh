#!/bin/sh
# Fuzzes each target for the given number of minutes: run.sh MINUTES [TARGET]. Needs a nightly compiler
# and cargo-fuzz 0.13 (cargo install cargo-fuzz). A crash ends the run and leaves its input in artifacts/.
cd "$(dirname "$0")" || exit 1
minutes=${1:?how many minutes for each target?}
for target in ${2:-parse execute}; do
    mkdir -p "corpus/$target"
    if [ "$target" = parse ]; then
        # Start from real PTX.
        for file in ../../steps/*/src/*.ptx ../tests/corpus/ptx/*.ptx ../tests/ptx/*.ptx; do
            cp "$file" "corpus/parse/$(echo "$file" | tr / _)"
        done
    fi
    echo "== $target, $minutes minutes"
    # -s none: there is no unsafe code for the address sanitizer to check, and the sanitizer halves
    # the speed. For `execute`, a hundred bytes select a kernel, eight mutations and a launch; PTX
    # needs more.
    [ "$target" = parse ] && longest=65536 || longest=200
    cargo +nightly fuzz run -s none "$target" -- -max_total_time=$((minutes * 60)) -timeout=20 \
        -rss_limit_mb=3000 -max_len=$longest -len_control=0 -print_final_stats=1 || exit 1
done
