// The timeline: one multiprocessor, filmed by the model, for one kernel or several, with a common clock. The
// reader plays and scrubs, points at a warp, and changes the launch and the GPU. The films of the unchanged
// launch and GPU come with the book; the model is loaded at the first change.
"use strict";

window.live ||= {};
(() => {
    const { html } = book;
    const SPEEDS = [[250, "slow"], [1000, "medium"], [4000, "fast"]];
    const ZOOMS = [1, 2, 4, 8, 16, 32];
    const NAMES = ["empty", "issue", "ready", "math", "shared", "barrier", "memory", "atomic", "code"];
    // The sliders: the entry of the question, the label, the values, the usual one, and how a value is said, with
    // the units of a film.
    const percent = (value, unit) => `${Math.round(100 * value)}\u00a0%${unit ? ` (${unit})` : ""}`;
    const SLIDERS = [
        ["threads", "threads per block", [64, 128, 256, 512, 1024], 256, String],
        ["loads", "v8: vectors in flight per thread", [1, 2, 4, 8], 8, String],
        ["latency", "latency of an idle memory", [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4], 1, (value, film) => percent(value, film && `${Math.round(film.latency)} cycles`)],
        ["bandwidth", "bandwidth of memory", [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4], 1, (value, film) => percent(value, film && `${film.rate.toFixed(1)} bytes per cycle per SM`)],
        ["sms", "multiprocessors (they share one bus: the more, the less for each)", [16, 33, 66, 99, 132, 160, 264], 132, String],
    ];
    const HINT = "Point at a warp, the curve or the bus, or move with the arrow keys in a picture.";

    class Timeline {
        constructor(figure, data) {
            Object.assign(this, { figure, data, cycle: data.cycles - 1, zoom: 1, playing: 0, screens: [], turn: 0, row: 1, panel: 0 });
            this.chosen = new Set(data.shown);
            this.values = Object.fromEntries(SLIDERS.map(([key, , , usual]) => [key, usual]));
            this.build();
            new MutationObserver(() => this.repaint()).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
            let width = figure.clientWidth;
            window.addEventListener("resize", () => {
                if (figure.clientWidth === width) return;
                width = figure.clientWidth;
                this.layout();
            });
        }

        build() {
            const { figure, data } = this;
            const stage = html("div", "tl-stage");
            figure.querySelector(".tl-still").replaceWith(stage);
            this.words = figure.querySelector(".stepper-words");
            const button = (parent, text, label, act) => {
                const node = html("button", "", parent, text);
                node.type = "button";
                if (label) node.setAttribute("aria-label", label);
                node.addEventListener("click", act);
                return node;
            };
            const kernels = html("div", "tl-bar", stage);
            kernels.setAttribute("role", "group");
            kernels.setAttribute("aria-label", "Kernels to show");
            html("span", "", kernels, "kernels ");
            this.buttons = data.all.map(({ name, label }) => {
                const node = button(kernels, label, name, () => this.toggle(name));
                node.value = name;
                return node;
            });
            const bar = html("div", "tl-bar", stage);
            this.player = button(bar, "Play", "Play", () => this.play());
            const label = html("label", "", bar, "speed ");
            this.speed = html("select", "", label);
            for (const [speed, said] of SPEEDS) html("option", "", this.speed, said).value = speed;
            this.speed.value = 1000;
            const seek = html("label", "tl-seek", bar);
            this.seek = html("input", "", seek);
            Object.assign(this.seek, { type: "range", min: 0, max: data.cycles - 1, step: 1, value: this.cycle });
            this.seek.setAttribute("aria-label", "Cycle");
            this.seek.addEventListener("input", () => { this.stop(); this.hint(); this.go(Number(this.seek.value)); });
            this.clock = html("span", "tl-clock", bar);
            this.closer = button(bar, "Zoom in", "Zoom in: fewer cycles, larger", () => this.zoomed(1));
            this.wider = button(bar, "Zoom out", "Zoom out: more cycles", () => this.zoomed(-1));
            this.panels = html("div", "tl-panels", stage);
            const key = figure.querySelector(".tl-key");
            for (const entry of key.querySelectorAll("[hidden]")) entry.hidden = false;
            stage.append(key, figure.querySelector(".tl-read"));
            this.spot = html("p", "tl-spot", stage, HINT);
            this.spot.setAttribute("role", "status");
            this.line = html("code", "tl-line", stage);
            const sliders = html("div", "tl-sliders", stage);
            this.inputs = SLIDERS.map(([key, title, values, usual, say]) => {
                const label = html("label", "", sliders, `${title}: `);
                const shown = html("output", "", label);
                const input = html("input", "", label);
                Object.assign(input, { type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(usual) });
                const write = film => {
                    shown.textContent = say(this.values[key], film);
                    input.setAttribute("aria-valuetext", shown.textContent);
                };
                input.addEventListener("input", () => { this.values[key] = values[input.value]; write(); this.changed(); });
                write();
                return { key, label, input, write };
            });
            this.reset = button(sliders, "Reset", "Reset the sliders", () => {
                for (const [key, , values, usual] of SLIDERS) {
                    this.values[key] = usual;
                    const { input } = this.inputs.find(made => made.key === key);
                    input.value = values.indexOf(usual);
                    input.dispatchEvent(new Event("input"));
                }
            });
            this.said = html("p", "tl-said", stage);
            this.said.setAttribute("role", "status");
            // The keys move the figure, and must not turn the page.
            stage.addEventListener("keydown", event => event.stopPropagation());
        }

        toggle(name) {
            if (this.chosen.has(name)) this.chosen.delete(name); else this.chosen.add(name);
            if (!this.chosen.size) this.chosen.add(name);
            return this.changed();
        }

        // The kernel that a step shows: a slider selects the variant of one step.
        kernel(name) {
            const { of, kernels } = this.data.loads;
            return name === of ? kernels.find(([count]) => count === this.values.loads)[1] : name;
        }

        // Returns the film of a kernel: that of the book, or, if a slider has been moved, a new one.
        async film(step, ptx) {
            const { threads, latency, bandwidth, sms } = this.values;
            const usual = SLIDERS.every(([key, , , usual]) => key === "loads" || this.values[key] === usual);
            if (usual && this.data.all.some(({ name }) => name === step)) return { film: await live.film(step), ms: 0 };
            if (!this.loaded) {
                this.said.textContent = "Loading the model …";
                this.said.classList.add("tl-waits");
            }
            const answer = await live.model({ step, ptx, threads, latency, bandwidth, sms, cycles: this.data.cycles });
            this.loaded = true;
            this.said.classList.remove("tl-waits");
            return answer;
        }

        // Films all chosen kernels again.
        async changed() {
            const turn = ++this.turn, { data } = this;
            for (const node of this.buttons) node.setAttribute("aria-pressed", String(this.chosen.has(node.value)));
            const loads = this.inputs.find(({ key }) => key === "loads");
            loads.label.hidden = !this.chosen.has(data.loads.of);
            const began = performance.now(), films = [];
            let modelMs = 0;
            for (const { name, label } of data.all.filter(({ name }) => this.chosen.has(name))) {
                const shown = this.kernel(name), { ptx, source } = await live.bring(shown, "f32");
                const answer = await this.film(shown, ptx);
                if (turn !== this.turn || !answer) return;
                if (!answer.film) { this.said.textContent = `${shown}: ${answer.stopped}`; return; }
                modelMs += answer.ms;
                const film = new live.Film(label, answer.film, source.split("\n"));
                film.paint(this.colours().states);
                films.push(film);
            }
            this.said.textContent = "";
            this.films = films;
            for (const { write } of this.inputs) write(films[0]);
            this.hint();
            this.show();
            this.tell();
            this.figure.dataset.time = JSON.stringify({ ms: performance.now() - began, modelMs, films: films.length });
        }

        show() {
            this.panels.replaceChildren();
            this.screens = this.films.map((film, panel) => {
                const box = html("div", "tl-panel", this.panels);
                const head = html("p", "tl-head", box);
                html("b", "", head, film.name);
                const now = html("span", "", head);
                const canvas = html("canvas", "", box);
                canvas.tabIndex = 0;
                canvas.dataset.keys = "";
                canvas.setAttribute("role", "group");
                canvas.setAttribute("aria-label", `${film.name}: the warps of one multiprocessor over time. Left and right move by a cycle, with Shift by 64; up and down select a warp slot, the bytes in flight or the bus; space plays. ${film.words}`);
                const screen = new live.Screen(canvas, film);
                screen.now = now;
                canvas.addEventListener("keydown", event => this.key(event, panel));
                canvas.addEventListener("focus", () => this.point(panel, this.row, this.cycle));
                canvas.addEventListener("blur", () => { screen.spot = null; this.draw(); });
                const place = event => {
                    const box = canvas.getBoundingClientRect();
                    const x = event.clientX - box.left, row = screen.row(event.clientY - box.top, x);
                    return [row, screen.cycle(x), x];
                };
                canvas.addEventListener("pointermove", event => {
                    const [row, cycle, x] = place(event);
                    if (event.buttons & 1) { this.stop(); this.go(cycle); }
                    if (x >= screen.left) this.point(panel, row, x > screen.right ? this.cycle : cycle);
                });
                canvas.addEventListener("pointerdown", event => {
                    const [row, cycle, x] = place(event);
                    if (x < screen.left || x > screen.right) return;
                    canvas.setPointerCapture(event.pointerId);
                    this.stop();
                    this.go(cycle);
                    this.point(panel, row, cycle);
                });
                canvas.addEventListener("pointerleave", () => { screen.spot = null; this.draw(); });
                return screen;
            });
            this.layout();
        }

        layout() {
            const width = this.panels.clientWidth;
            for (const screen of this.screens) screen.size(width);
            this.window();
        }

        // Chooses the cycles to show, a page that contains the present one, and draws them.
        window() {
            const { cycles } = this.data, span = cycles / this.zoom;
            const page = Math.floor(this.cycle / span);
            [this.from, this.to] = [page * span, (page + 1) * span];
            const colours = this.colours();
            // In a frame of a playing figure, only one screen is prepared again.
            this.stale = this.screens.map(screen => () => screen.prepare(this.from, this.to, colours));
            if (!this.playing) while (this.stale.length) this.stale.shift()();
            this.draw();
            this.closer.disabled = this.zoom === ZOOMS.at(-1);
            this.wider.disabled = this.zoom === 1;
        }

        zoomed(by) {
            this.hint();
            this.zoom = ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, ZOOMS.indexOf(this.zoom) + by))];
            this.window();
        }

        go(cycle) {
            this.cycle = Math.max(0, Math.min(this.data.cycles - 1, cycle));
            if (this.cycle < this.from || this.cycle >= this.to) this.window(); else this.draw();
        }

        draw() {
            const cycle = Math.floor(this.cycle);
            for (const screen of this.screens) if (screen.start !== undefined) screen.draw(cycle);
            // Text is written ten times a second: it costs more than the picture.
            const time = performance.now();
            if (this.playing && time - (this.wrote ?? 0) < 100) return;
            this.wrote = time;
            const us = cycle / (this.films?.[0]?.mhz ?? 1980);
            this.clock.textContent = `cycle ${cycle}, ${us.toFixed(2)} µs`;
            this.seek.value = cycle;
            this.seek.setAttribute("aria-valuetext", this.clock.textContent);
            for (const { film, now } of this.screens) {
                const { waits, resident, flight, carried } = film.now(cycle);
                now.textContent = ` ${waits} of ${resident} warps wait for memory · ${(flight / 1024).toFixed(1)} KiB in flight · ${(carried / 1024).toFixed(0)} KiB over the bus so far`;
            }
        }

        play() {
            if (this.playing) return this.stop();
            if (this.cycle >= this.data.cycles - 1) this.go(0);
            this.hint();
            this.player.textContent = "Pause";
            this.player.setAttribute("aria-label", "Pause");
            let last;
            const frame = time => {
                const began = performance.now();
                const cycle = this.cycle + (last === undefined ? 0 : Math.min(0.1, (time - last) / 1000) * Number(this.speed.value));
                last = time;
                if (this.stale?.length) this.stale.shift()();
                this.go(cycle);
                this.frames?.push(performance.now() - began);
                if (cycle >= this.data.cycles - 1) return this.stop();
                this.playing = requestAnimationFrame(frame);
            };
            this.playing = requestAnimationFrame(frame);
        }

        stop() {
            if (!this.playing) return;
            cancelAnimationFrame(this.playing);
            this.playing = 0;
            this.player.textContent = "Play";
            this.player.setAttribute("aria-label", "Play");
            while (this.stale?.length) this.stale.shift()();
            this.draw();
        }

        // Removes the sentence of a cycle that is no longer shown.
        hint() {
            if (this.spot.textContent !== HINT) this.spot.textContent = HINT;
            this.line.textContent = "";
        }

        // Says what a warp slot does in a cycle.
        point(panel, row, cycle) {
            const screen = this.screens[panel], { film } = screen;
            Object.assign(this, { panel, row });
            for (const other of this.screens) other.spot = null;
            screen.spot = row;
            const { text, line } = film.at(row, Math.floor(cycle), this.data.states);
            this.spot.textContent = `${film.name}, cycle ${Math.floor(cycle)}: ${text}${line ? `; line ${line} of its kernel:` : ""}`;
            this.line.textContent = line ? (film.source[line - 1] ?? "").trim() : "";
            if (!this.playing) this.draw();
        }

        key(event, panel) {
            const far = event.shiftKey ? 64 : 1, rows = this.screens[panel].film.rows.length + 2;
            const act = {
                ArrowRight: () => this.go(this.cycle + far), ArrowLeft: () => this.go(this.cycle - far),
                ArrowDown: () => { this.row = Math.min(rows - 1, this.row + 1); }, ArrowUp: () => { this.row = Math.max(0, this.row - 1); },
                Home: () => this.go(0), End: () => this.go(this.data.cycles - 1), " ": () => this.play(),
            }[event.key];
            if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
            event.preventDefault();
            if (event.key !== " ") this.stop();
            act();
            if (!this.playing) this.point(panel, this.row, this.cycle);
        }

        // Tells the films in words, in place of those of the still picture.
        tell() {
            const { head } = this.data;
            const summary = this.words.querySelector("summary");
            this.words.replaceChildren(summary);
            for (const film of this.films) {
                const said = html("p", "", this.words);
                html("b", "", said, film.name);
                said.append(`. ${film.words}`);
                const table = html("table", "figures", html("div", "table-wrapper", this.words));
                html("caption", "", table, `${film.name}: ${film.caption}.`);
                const top = html("tr", "", html("thead", "", table));
                for (const text of head) html("th", "", top, text).scope = "col";
                const body = html("tbody", "", table);
                for (const [first, ...cells] of film.table) {
                    const row = html("tr", "", body);
                    html("th", "", row, first).scope = "row";
                    for (const cell of cells) html("td", "", row, cell);
                }
            }
        }

        // The colours of the theme.
        colours() {
            const probe = html("i", "", this.figure);
            const rgb = name => {
                probe.className = `tl-${name}`;
                return getComputedStyle(probe).backgroundColor;
            };
            const numbers = name => rgb(name).match(/[\d.]+/g).slice(0, 3).map(Number);
            const made = { states: NAMES.map(numbers) };
            for (const name of ["ink", "soft", "paper", "flight", "bus", "request", "reply", "empty"]) made[name] = rgb(name);
            probe.remove();
            return made;
        }

        repaint() {
            if (!this.films) return;
            const { states } = this.colours();
            for (const film of this.films) film.paint(states);
            this.window();
        }
    }

    live.time = async (figure, data) => {
        book.sheet("live/time.css");
        await Promise.all(["live/engine.js", "live/film.js", "live/screen.js"].map(book.script));
        const timeline = figure.timeline = new Timeline(figure, data);
        await timeline.changed();
        timeline.player.focus({ preventScroll: true });
    };
})();
