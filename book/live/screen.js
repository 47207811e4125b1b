// Draws a film: the warp slots, the loads on their way, the bytes in flight and the bus. The parts that do not
// move are drawn once, so that a frame draws a picture, a line and the loads.
"use strict";

window.live ||= {};
(() => {
    const LANE = 3, SLOTS = 5, GAP = 5, FLIGHT = 46, BUS = 12, AXIS = 16;
    // The end of the scale of the bytes in flight, as a multiple of those that fill the bus. It does not depend on
    // the films, so that they can be compared. Where the curve is cut off, more bytes make no difference.
    const SCALE = 2;

    class Screen {
        constructor(canvas, film) {
            this.canvas = canvas;
            this.film = film;
            this.context = canvas.getContext("2d");
            this.still = document.createElement("canvas");
            this.spot = null;
        }

        // Measures the canvas, for a width in CSS pixels.
        size(given) {
            const width = Math.max(240, given);
            const narrow = width < 480;
            this.ratio = Math.min(2, window.devicePixelRatio || 1);
            this.left = narrow ? 0 : 76;
            this.trip = narrow ? 64 : 118;
            this.width = width;
            this.right = width - this.trip;
            let y = 2;
            this.tops = this.film.rows.map(({ slot, scheduler }) => {
                if (slot < 0 && scheduler > 0) y += GAP;
                const top = y;
                y += slot < 0 ? SLOTS + 1 : LANE;
                return top;
            });
            this.bottom = y;
            this.flightTop = y + 8;
            this.busTop = this.flightTop + FLIGHT + 3;
            this.tops.push(this.flightTop, this.busTop);
            this.heights = this.film.rows.map(({ slot }) => slot < 0 ? SLOTS : LANE).concat(FLIGHT, BUS);
            this.height = this.busTop + BUS + AXIS;
            for (const canvas of [this.canvas, this.still]) Object.assign(canvas, { width: width * this.ratio, height: this.height * this.ratio });
            Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.height}px` });
        }

        x(cycle) { return this.left + (this.right - this.left) * (cycle - this.from) / (this.to - this.from); }
        cycle(x) { return Math.max(0, Math.min(this.film.cycles - 1, Math.floor(this.from + (x - this.left) / (this.right - this.left) * (this.to - this.from)))); }
        // The row of the film at a place: below the warps, the bytes in flight and the bus; at the right, the way.
        row(y, x) {
            const { length } = this.tops;
            if (x > this.right) return length;
            let at = 0;
            while (at + 1 < length && this.tops[at + 1] <= y) at++;
            return at;
        }

        // Draws the parts that do not move, for the cycles from `from` to `to`.
        prepare(from, to, colours) {
            const most = SCALE * this.film.fills;
            Object.assign(this, { from, to, colours });
            const { film, ratio, left, right, still } = this, context = still.getContext("2d");
            context.setTransform(ratio, 0, 0, ratio, 0, 0);
            context.clearRect(0, 0, this.width, this.height);
            const each = (to - from) / ((right - left) * ratio);
            const level = Math.max(0, Math.min(film.levels.length - 1, Math.floor(Math.log2(each))));
            const picture = film.levels[level], scale = 1 << level;
            context.imageSmoothingEnabled = false;
            // The rows of a scheduler have equal heights, so that one call draws all of them.
            const part = (row, count, height) => context.drawImage(picture, from / scale, row, (to - from) / scale, count, left, this.tops[row], right - left, height);
            film.rows.forEach(({ slot }, row) => {
                if (slot >= 0) return;
                const next = film.rows.findIndex((other, at) => at > row && other.slot < 0), count = (next < 0 ? film.rows.length : next) - row - 1;
                part(row, 1, SLOTS);
                part(row + 1, count, count * LANE);
            });
            context.font = this.font = `11px ${getComputedStyle(document.body).fontFamily}`;
            context.fillStyle = colours.ink;
            if (left) {
                film.rows.forEach(({ slot, scheduler }, row) => slot < 0 && context.fillText(`scheduler ${scheduler}`, 0, this.tops[row] + 9));
                context.fillText("KiB in flight,", 0, this.flightTop + 10);
                context.fillText(`scale 0 to ${Math.round(most / 1024)}`, 0, this.flightTop + 24);
                context.fillText("bus", 0, this.busTop + 10);
            }
            // Bytes in flight, with the number that fills the bus at the latency of an idle memory.
            const base = this.flightTop + FLIGHT, high = bytes => base - FLIGHT * Math.min(1, bytes / most);
            const bins = Math.max(1, Math.round((right - left) / 2));
            const mean = (list, a, b) => {
                let sum = 0, count = 0;
                for (let bin = Math.floor(a / 8); bin < Math.max(b / 8, Math.floor(a / 8) + 1) && bin < list.length; bin++) { sum += list[bin]; count++; }
                return count ? sum / count : 0;
            };
            context.fillStyle = colours.flight;
            context.beginPath();
            context.moveTo(left, base);
            for (let bin = 0; bin < bins; bin++) {
                const a = from + (to - from) * bin / bins, b = from + (to - from) * (bin + 1) / bins;
                context.lineTo(left + (right - left) * (bin + 0.5) / bins, high(mean(film.flight, a, b)));
            }
            context.lineTo(right, base);
            context.fill();
            const needed = high(film.fills), said = `${(film.fills / 1024).toFixed(1)} KiB fill the bus`;
            context.strokeStyle = colours.ink;
            context.setLineDash([4, 3]);
            context.beginPath();
            context.moveTo(left, needed);
            context.lineTo(right, needed);
            context.stroke();
            context.setLineDash([]);
            Object.assign(context, { strokeStyle: colours.paper, fillStyle: colours.ink, lineWidth: 3, lineJoin: "round" });
            context.strokeText(said, left + 4, needed - 4);
            context.fillText(said, left + 4, needed - 4);
            const peak = Math.max(...film.flight.subarray(from >> 3, Math.ceil(to / 8)));
            if (peak > most) {
                const cut = `up to ${Math.round(peak / 1024)} KiB, cut off`;
                context.textAlign = "right";
                context.strokeText(cut, right - 4, this.flightTop + 12);
                context.fillText(cut, right - 4, this.flightTop + 12);
                context.textAlign = "left";
            }
            context.lineWidth = 1;
            context.fillStyle = colours.empty;
            context.fillRect(left, this.busTop, right - left, BUS);
            context.fillStyle = colours.bus;
            for (let bin = 0; bin < bins; bin++) {
                const a = from + (to - from) * bin / bins, b = from + (to - from) * (bin + 1) / bins;
                const used = Math.min(1, mean(film.bus, a, b)), x = left + (right - left) * bin / bins;
                if (used > 0.01) context.fillRect(x, this.busTop + BUS * (1 - used), (right - left) / bins + 0.3, BUS * used);
            }
            context.fillStyle = colours.soft;
            const step = [64, 128, 256, 512, 1024, 2048, 4096].find(step => (to - from) / step <= (right - left) / 60) ?? 8192;
            for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
                const x = this.x(tick);
                context.fillRect(x, this.busTop + BUS, 1, 3);
                context.textAlign = tick === from ? "left" : x > right - 16 ? "right" : "center";
                context.fillText(tick === 0 ? "cycle 0" : String(tick), x, this.height - 2);
            }
            context.textAlign = "left";
            // The way to the memory and back.
            context.fillStyle = colours.soft;
            const start = right + 10, end = this.width - 8;
            context.fillRect(end, 2, 4, this.bottom - 2);
            if (left) ["SM", "loads on their way"].forEach((text, at) => context.fillText(text, right + 4, this.flightTop + 10 + 14 * at));
            // On a phone, there is no room for names at the left.
            else for (const [text, y] of [["in flight,", this.flightTop + 12], [`0–${Math.round(most / 1024)} KiB`, this.flightTop + 25], ["bus", this.busTop]]) context.fillText(text, right + 6, y + 10);
            context.textAlign = "right";
            context.fillText("memory", this.width - 1, this.flightTop + (left ? 10 : 8));
            context.textAlign = "left";
            Object.assign(this, { start, end });
        }

        // Draws a cycle.
        draw(cycle) {
            const { context, ratio, colours, start, end, film } = this;
            context.setTransform(1, 0, 0, 1, 0, 0);
            context.clearRect(0, 0, this.canvas.width, this.canvas.height);
            context.drawImage(this.still, 0, 0);
            context.setTransform(ratio, 0, 0, ratio, 0, 0);
            const x = Math.max(this.left, Math.min(this.right, this.x(cycle)));
            context.globalAlpha = 0.6;
            context.fillStyle = colours.paper;
            context.fillRect(x, 0, this.right - x, this.busTop + BUS);
            context.globalAlpha = 1;
            context.fillStyle = colours.ink;
            context.fillRect(x - 0.5, 0, 1, this.busTop + BUS);
            if (this.spot !== null) {
                context.strokeStyle = colours.ink;
                context.strokeRect(this.left + 0.5, this.tops[this.spot] - 1, this.right - this.left - 1, this.heights[this.spot] + 1);
            }
            // Requests leave as short marks; bytes come back as long ones, after they have been on the bus.
            const requests = new Path2D(), replies = new Path2D();
            for (const [scheduler, slot, , bytes, leaves, from, to, back] of film.flights) {
                if (leaves > cycle) break;
                if (back <= cycle) continue;
                const y = this.tops[17 * scheduler + 1 + slot] ?? 2;
                if (cycle < from) {
                    // A request waits at the memory until the bus is free.
                    const way = Math.min(1, (cycle - leaves) / (film.latency / 2));
                    requests.rect(start + (end - start - 4) * way, y, 3, 2);
                } else {
                    const way = Math.min(1, (cycle - from) / Math.max(1, back - from)), long = 2 + bytes / 64;
                    replies.rect(Math.max(start - 8, end - long - (end - start) * way), y, long, 2.5);
                }
            }
            context.fillStyle = colours.request;
            context.fill(requests);
            context.fillStyle = colours.reply;
            context.fill(replies);
        }
    }

    live.Screen = Screen;
})();
