// A film as a picture: one pixel for each warp slot and cycle, and the same with 2, 4, … cycles in a pixel; and
// what happens in a cycle, in words. Nothing here depends on the page.
"use strict";

window.live ||= {};
(() => {
    const LEVELS = 5;
    const ISSUE = 1, MEMORY = 6, EMPTY = 0;

    // The last index whose key is at most `at`.
    function before(list, at, key) {
        let low = -1, high = list.length;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (key(list[middle]) <= at) low = middle; else high = middle;
        }
        return low;
    }

    class Film {
        // `made` is the model's answer, `source` the lines of the kernel.
        constructor(name, made, source) {
            Object.assign(this, made, { name, source, table: made.rows });
            // The rows of the picture: for each scheduler, a row of its issue slots, then its warps.
            this.rows = [];
            made.lanes.forEach((lanes, scheduler) => {
                this.rows.push({ scheduler, slot: -1 });
                lanes.forEach((lane, slot) => this.rows.push({ scheduler, slot, ...runs(lane, made.cycles), warps: lane.warps }));
                for (let slot = lanes.length; slot < 16; slot++) this.rows.push({ scheduler, slot, from: [0], code: [0], warps: [] });
            });
            // For each cycle divisible by 8, the bytes in flight, and those that are on the bus.
            const bins = Math.ceil(made.cycles / 8);
            this.flight = new Float64Array(bins);
            this.bus = new Float64Array(bins);
            // The bytes that the bus has transferred by the start of a bin, and the number that fills it.
            this.carried = new Float64Array(bins + 1);
            this.fills = made.rate * made.latency;
            const spread = (sums, from, to, weight) => {
                for (let bin = from >> 3; bin < bins && 8 * bin < to; bin++) sums[bin] += weight * (Math.min(to, 8 * bin + 8) - Math.max(from, 8 * bin)) / 8;
            };
            for (const [, , , bytes, leaves, from, to, back] of made.flights) {
                spread(this.flight, leaves, back, bytes);
                // A transfer may be shorter than a cycle, so its bytes count, and not its cycles.
                const end = Math.max(to, from + 1);
                spread(this.bus, from, end, bytes / (end - from) / made.rate);
            }
            for (let bin = 0; bin < bins; bin++) this.carried[bin + 1] = this.carried[bin] + 8 * made.rate * this.bus[bin];
        }

        // Paints the picture with these colours, [r, g, b] by state.
        paint(colours) {
            const { rows, cycles } = this, height = rows.length;
            const words = new Uint32Array(colours.map(([r, g, b]) => 0xff000000 | b << 16 | g << 8 | r));
            let width = cycles, pixels = new Uint32Array(width * height);
            let slots = 0;
            rows.forEach((row, y) => {
                if (row.slot < 0) { slots = y * width; pixels.fill(words[EMPTY], slots, slots + width); return; }
                const { from, code } = row;
                for (let i = 0; i < from.length; i++) {
                    const end = i + 1 < from.length ? from[i + 1] : cycles, state = code[i] & 15;
                    pixels.fill(words[state], y * width + from[i], y * width + end);
                    if (state === ISSUE) pixels.fill(words[ISSUE], slots + from[i], slots + end);
                }
            });
            this.levels = [];
            for (let level = 0; level < LEVELS; level++) {
                const canvas = document.createElement("canvas");
                Object.assign(canvas, { width, height });
                const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
                canvas.getContext("2d").putImageData(image, 0, 0);
                this.levels.push(canvas);
                const half = width >> 1, next = new Uint32Array(half * height);
                for (let y = 0; y < height; y++) for (let x = 0, at = y * width; x < half; x++, at += 2) {
                    const a = pixels[at], b = pixels[at + 1];
                    next[y * half + x] = a === b ? a : ((a & 0xfefefefe) >>> 1) + ((b & 0xfefefefe) >>> 1) | 0xff000000;
                }
                [width, pixels] = [half, next];
            }
        }

        // The state of a row in a cycle: its number, its first cycle, and the instruction.
        state(row, cycle) {
            const { from, code } = this.rows[row];
            const at = before(from, cycle, value => value);
            return { state: code[at] & 15, since: from[at], until: from[at + 1] ?? this.cycles, pc: code[at] >> 4 };
        }

        // Describes a row in a cycle, and returns the line of the kernel that it stands at. Below the rows of
        // the warps are the bytes in flight and the bus, and beside them the way to the memory.
        at(row, cycle, states) {
            const { flight, bus, carried } = this.now(cycle), kib = bytes => `${(bytes / 1024).toFixed(1)} KiB`;
            if (row >= this.rows.length) return { line: 0, text: [
                () => `${kib(flight)} in flight; ${kib(this.fills)} fill the bus if each load takes ${Math.round(this.latency)} cycles, as on an idle memory`,
                () => `the bus is ${Math.round(100 * bus)} % full; it has transferred ${kib(carried)}`,
                () => {
                    const on = this.flights.filter(load => load[4] <= cycle && load[7] > cycle), out = on.filter(load => load[5] > cycle).length;
                    return `${out} loads on their way to the memory or in its queue, ${on.length - out} on their way back`;
                },
            ][row - this.rows.length]() };
            const { scheduler, slot, warps } = this.rows[row];
            if (slot < 0) {
                const busy = this.rows.findIndex((other, i) => other.scheduler === scheduler && other.slot >= 0 && this.state(i, cycle).state === ISSUE);
                if (busy < 0) return { text: `scheduler ${scheduler} issues nothing`, line: 0 };
                const { text, line } = this.at(busy, cycle, states);
                return { text: `scheduler ${scheduler} issues for ${text.split(",")[0]}`, line };
            }
            const { state, since, until, pc } = this.state(row, cycle);
            const place = `slot ${slot} of scheduler ${scheduler}`;
            if (state === EMPTY) return { text: `${place}: no warp, because ${this.why(warps, cycle)}`, line: 0 };
            const [, block, warp] = warps[before(warps, cycle, w => w[0])] ?? [0, 0, 0];
            const line = this.lines[pc] ?? 0;
            const time = state === ISSUE ? "" : ` for ${cycle - since + 1} of ${until - since} cycles`;
            return { text: `warp ${warp} of block ${block}, ${place}: ${states[state]}${time}`, line };
        }

        // Says why a slot has no warp.
        why(warps, cycle) {
            const at = before(warps, cycle, w => w[0]), next = warps[at + 1], { resident, blocks, fits: [fit, by] } = this;
            return (at < 0 ? "" : `block ${warps[at][1]} has ended, and `) + (next ? `the next block starts here in ${next[0] - cycle} cycles`
                : resident >= blocks ? `the launch has no more than ${blocks} blocks for this multiprocessor`
                    : at < 0 && resident === fit ? `no more than ${fit} blocks fit (limit: ${by})` : "no block starts here by the end of the film");
        }

        // Sums a cycle up.
        now(cycle) {
            let waits = 0, resident = 0;
            for (let row = 0; row < this.rows.length; row++) {
                if (this.rows[row].slot < 0) continue;
                const { state } = this.state(row, cycle);
                waits += state === MEMORY;
                resident += state !== EMPTY;
            }
            const bin = Math.min(cycle >> 3, this.flight.length - 1);
            return { waits, resident, flight: this.flight[bin], bus: Math.min(1, this.bus[bin]), carried: this.carried[bin + 1] };
        }
    }

    function runs({ states }, cycles) {
        const from = [], code = [];
        for (let i = 0, at = 0; i < states.length; i += 2) {
            at += states[i];
            if (at >= cycles) break;
            from.push(at);
            code.push(states[i + 1]);
        }
        return { from, code };
    }

    live.Film = Film;
})();
