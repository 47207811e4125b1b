// The live figure: the controls below a stepper, and the results of the reader's changes.
"use strict";

window.live ||= {};
(() => {
    const { html } = book;
    const SIZES = [0, 1, 31, 32, 33, 63, 65, 255, 256, 257, 512, 1023, 1024, 1025, 2048, 4096, 4109, 8192, 16384, 32768, 65536, 65549, 131072, 262144];
    const TYPES = ["f32", "i32", "f64"];
    const ORDERS = [["converged", "converged"], ["min-pc", "lowest PC first"], ["adversarial:1", "random, seed 1"], ["adversarial:2", "random, seed 2"], ["adversarial:3", "random, seed 3"]];
    const SMS = [1, 4, 8, 16, 132];
    // The names of the counts that are shown; chapters do not use the others.
    const COUNTS = [
        ["warp_insts", "warp instructions"], ["divergent_branches", "divergent branches"],
        ["shared_ld", "shared loads"], ["shared_st", "shared stores"],
        ["shared_ld_conflicts", "bank conflicts of loads"], ["shared_st_conflicts", "bank conflicts of stores"],
        ["global_ld_requests", "global loads"], ["global_ld_sectors", "sectors of global loads"],
        ["copied_bytes", "bytes copied by the engine"],
        ["barriers", "block barriers, per warp"], ["warp_barriers", "warp barriers"],
        ["shuffles", "shuffles"], ["atomics", "atomics"],
    ];
    const size = n => n > 64 && Number.isInteger(Math.log2(n)) ? `2^${Math.log2(n)}` : n.toLocaleString("en");
    const number = n => n.toLocaleString("en");
    // Clamps a number of elements to what a page can add; undefined if it is not a number.
    const MOST = 1 << 20;
    const elements = said => Number.isNaN(Number(said)) ? undefined : Math.max(0, Math.min(MOST, Math.floor(Number(said))));

    class Live {
        constructor(stepper, state) {
            this.stepper = stepper;
            this.facts = stepper.data.live;
            this.step = stepper.data.step;
            const get = (name, among, usual) => among.map(String).includes(state.get(name)) ? state.get(name) : String(usual);
            this.n = elements(state.get("n") || this.facts.n) ?? this.facts.n;
            this.type = get("type", TYPES, "f32");
            this.order = get("order", ORDERS.map(o => o[0]), "converged");
            this.sms = get("sms", SMS, this.facts.sms ? 8 : 132);
            this.variant = get("variant", this.facts.variants.map(v => v.name), this.step);
            this.edited = null;
            // The variant whose number a slider sets, if there is one.
            this.knob = this.facts.variants.find(v => v.knob);
            const knob = Number(state.get("knob") ?? NaN);
            if (this.knob) this.set = knob >= this.knob.knob.from && knob <= this.knob.knob.to ? Math.floor(knob) : this.knob.knob.at;
            const { select } = stepper;
            if ([...select.options].some(o => o.value === state.get("threads"))) select.value = stepper.threads = state.get("threads");
            // Open at the first bank conflict, if there is one.
            const round = Math.floor(state.get("round") || NaN);
            this.round = round >= 0 ? round : null;
            const clash = stepper.frames.findIndex(frame => frame.groups.some(g => g.ops.some(op => op.conflicts)));
            if (this.round === null && stepper.at === 0 && clash > 0) this.round = clash;
            this.build();
            stepper.live = this;
        }

        build() {
            const panel = this.stepper.panel;
            // Another link may be followed while the figure is open.
            for (const part of [panel, this.stepper.below]) part.replaceChildren();
            this.stepper.figure.querySelector(".lv-dial")?.remove();
            panel.dataset.keys = "";
            const controls = html("div", "lv-controls", panel);
            const label = (text, parent = controls) => html("label", "", parent, text + " ");
            const select = (text, options, value, act) => {
                const node = html("select", "", label(text));
                for (const [key, said] of options) {
                    const option = html("option", "", node, said);
                    option.value = key;
                    option.selected = key === value;
                }
                node.addEventListener("change", () => { act(node.value); if (!this.lines.again) return this.changed(); this.lines.again(); });
                return node;
            };
            const sizes = label("n");
            sizes.className = "lv-size";
            this.slider = html("input", "", sizes);
            Object.assign(this.slider, { type: "range", min: 0, max: SIZES.length - 1, step: 1 });
            this.slider.setAttribute("aria-label", "Number of elements, from a list");
            this.slider.addEventListener("input", () => { this.n = SIZES[this.slider.value]; this.sized(); this.changed(); });
            this.field = html("input", "lv-n", sizes);
            Object.assign(this.field, { type: "number", min: 0, max: MOST });
            this.field.setAttribute("aria-label", "Number of elements, any value");
            this.field.addEventListener("change", () => {
                this.n = elements(this.field.value) ?? 0;
                this.sized();
                this.changed();
            });
            select("type", TYPES.map(t => [t, t]), this.type, value => { this.type = value; if (!this.lines.again) this.leave(); });
            select("order of lanes", ORDERS, this.order, value => { this.order = value; })
                .parentNode.title = "With converged, lanes that diverge at a branch reconverge after it. A GPU may use any of these orders, and a correct kernel gives the same sum with each.";
            if (this.facts.sms) select("multiprocessors", SMS.map(s => [String(s), String(s)]), this.sms, value => { this.sms = value; });
            this.kernels = html("div", "lv-kernels", panel);
            this.kernels.setAttribute("role", "group");
            this.kernels.setAttribute("aria-label", "Kernel");
            html("span", "", this.kernels, "kernel ");
            for (const { name, label } of [{ name: this.step, label: "unchanged" }, ...this.facts.variants]) {
                const node = html("button", "", this.kernels, label);
                node.type = "button";
                node.value = name;
                node.addEventListener("click", () => { this.variant = name; this.leave(); this.changed(); });
            }
            this.said = html("p", "lv-said", panel);
            this.said.setAttribute("role", "status");
            const below = this.stepper.below;
            below.dataset.keys = "";
            this.found = html("ol", "lv-found", below);
            this.table = html("div", "table-wrapper lv-counts", below);
            this.table.tabIndex = 0;
            this.table.setAttribute("role", "region");
            this.table.setAttribute("aria-label", "Counts");
            this.lines = new live.Lines(html("div", "lv-code", below), this);
            this.sized();
            if (this.knob) live.dial(this);
        }

        // Returns a kernel with the slider's number in it.
        given(kernel) { return this.knob && this.variant === this.knob.name ? live.put(kernel, this.set) : kernel; }

        sized() {
            const nearest = SIZES.reduce((best, n, i) => Math.abs(n - this.n) < Math.abs(SIZES[best] - this.n) ? i : best, 0);
            this.slider.value = nearest;
            this.slider.setAttribute("aria-valuetext", size(this.n));
            this.field.value = this.n;
        }

        // The variant's row: its name, and the step whose launch plan it uses.
        get kernel() { return this.facts.variants.find(v => v.name === this.variant) ?? { name: this.step, step: this.step, label: "unchanged" }; }

        // The title of the kernel's column of counts.
        get named() {
            const knob = this.knob?.name === this.variant ? `: ${this.set}` : "";
            return this.edited ? "edited" : this.variant === this.step ? this.step : this.kernel.label + knob;
        }

        question(kernel, step, more) {
            return { step, ptx: kernel.ptx, source: kernel.source, n: this.n, type: this.type, threads: Number(this.stepper.threads),
                schedule: this.order, sms: this.facts.sms ? Number(this.sms) : undefined, ...more };
        }

        moved() { this.write(); }

        // Updates everything: the picture, the counts, and the counts of the kernel to compare
        // with.
        async changed() {
            this.write();
            for (const node of this.kernels.querySelectorAll("button")) node.setAttribute("aria-pressed", String(this.edited === null && node.value === this.variant));
            this.dialled?.();
            const began = performance.now();
            try {
                const { name, step } = this.kernel;
                const kernel = this.shown = this.edited ?? this.given(await live.bring(name, this.type));
                const answer = await live.ask(this.question(kernel, step, { checks: true, frames: true }));
                if (!answer) return;
                this.show(kernel, answer);
                this.figureMs = performance.now() - began;
                this.wasmMs = answer.ms;
                await this.compare();
                this.stepper.figure.dataset.live = JSON.stringify({ n: this.n, ms: this.figureMs });
            } catch (error) {
                this.said.textContent = error.message;
            }
        }

        async compare() {
            // A step is compared with the previous step; a variant or an edited kernel is compared with
            // the step.
            const own = this.variant !== this.step || this.edited !== null;
            const name = own ? this.step : this.facts.before;
            if (!name) return;
            const answer = await live.ask(this.question(await live.bring(name, this.type), name, {}));
            if (answer) this.count(answer, name);
        }

        show(kernel, answer) {
            const { stepper } = this;
            this.answer = answer;
            stepper.kernel = this.named;
            stepper.source = kernel.source.split("\n");
            if (answer.frames.length) {
                stepper.threads = String(answer.threads);
                stepper.all = { ...stepper.all, [stepper.threads]: answer.frames };
                stepper.at = Math.min(this.round ?? stepper.at, answer.frames.length - 1);
                this.round = null;
                stepper.alone();
                stepper.show();
            }
            stepper.figure.classList.toggle("lv-stale", !answer.frames.length);
            this.say(answer);
            this.count(answer);
            // Draw the picture first: filling hundreds of lines takes longer.
            clearTimeout(this.listing);
            this.listing = setTimeout(() => this.lines.show(kernel, answer), this.lines.answer ? 60 : 0);
        }

        say(answer) {
            const { launches } = answer;
            const plan = launches.length ? `${book.plural(launches.length, "launch", "launches")}, ${launches.map(l => `${book.plural(l.grid, "block")} of ${l.block}`).join(", then ")}. ` : "";
            const good = answer.verified && !answer.findings.length;
            this.said.className = `lv-said ${good ? "lv-good" : "lv-bad"}`;
            const sum = answer.expected === undefined || answer.expected === null ? "" : `The sum of ${number(this.n)} ${this.type} elements is ${answer.sum}; the exact sum is ${answer.expected}. `;
            this.said.textContent = plan + (answer.stopped ? `Stopped: ${answer.stopped}`
                : answer.wrong ? answer.wrong
                    : sum + (answer.findings.length ? `The sum is correct, but the kernel is not: ${book.plural(answer.findings.length, "finding")}.` : "Right: the sum is correct, and the checks find nothing."));
            this.found.replaceChildren();
            for (const finding of answer.findings) {
                const row = html("li", "", this.found);
                const node = html("button", "", row, finding.sentence);
                node.type = "button";
                node.title = finding.details;
                node.addEventListener("click", () => this.lines.point(finding.lines, finding.ptx_lines));
            }
        }

        count(answer, name) {
            if (!name) this.before = null;
            else this.before = { total: answer.total, name, stopped: answer.stopped };
            const { total } = this.answer, before = this.before;
            const rows = COUNTS.filter(([key]) => total[key] || before?.total[key]);
            const made = html("table", "figures");
            html("caption", "", made, `All launches, n = ${size(this.n)}, ${this.type}, blocks of ${this.answer.threads}.`);
            const head = html("tr", "", html("thead", "", made));
            for (const text of ["count", this.named, ...(before ? [before.name] : [])]) html("th", "", head, text).scope = "col";
            const body = html("tbody", "", made);
            for (const [key, said] of rows) {
                const row = html("tr", "", body);
                html("th", "", row, said).scope = "row";
                html("td", "", row, number(total[key] ?? 0));
                if (before) html("td", "", row, before.stopped ? "–" : number(before.total[key] ?? 0));
            }
            this.table.replaceChildren(made);
        }

        leave() {
            this.edited = null;
            this.lines.leave?.();
        }

        // Replaces the variant by an edited kernel.
        edit(change) {
            this.edited = change && { ...this.shown, ...change, compiled: change.source !== undefined };
            return this.changed();
        }

        // Shows why there is no kernel; the previous kernel's picture stays.
        refuse(why) {
            this.said.className = "lv-said lv-bad";
            this.said.textContent = why;
            this.found.replaceChildren();
            this.stepper.figure.classList.add("lv-stale");
        }

        // The address holds the figure's state, so that a reader can send a link; the text of an edited kernel
        // is too long for an address.
        write() {
            const state = new URLSearchParams({ live: this.step, n: this.n, threads: this.stepper.threads, type: this.type, order: this.order, variant: this.variant, round: this.stepper.at });
            if (this.facts.sms) state.set("sms", this.sms);
            if (this.knob && this.variant === this.knob.name) state.set("knob", this.set);
            history.replaceState(history.state, "", `#${state}`);
        }
    }

    live.open = async (stepper, state = new URLSearchParams()) => {
        book.sheet("live/live.css");
        await Promise.all([book.script("live/engine.js"), book.script("live/lines.js")]);
        if (stepper.data.live.variants.some(v => v.knob)) await book.script("live/dial.js");
        const figure = new Live(stepper, state);
        await figure.changed();
        stepper.change.remove();
        figure.slider.focus({ preventScroll: true });
    };
})();
