// The stepper, which goes through the rounds of a block as the interpreter traced them. Without
// this script, a page shows the first and last rounds as pictures, and all rounds in words. At the
// first click on its button "Change", live/figure.js loads the interpreter.
"use strict";

(() => {
    const { svg, html, plural } = book;
    const { LANES, on, count, shared, access } = book.access;
    const CELL = 20;

    // Returns the operations of a warp in a frame, and the warp's distance from the first warp of
    // its group.
    function warpOf(frame, warp) {
        const group = frame.groups.find(g => g.first <= warp && warp <= g.last);
        return group ? { ops: group.ops, by: warp - group.first } : { ops: [], by: 0 };
    }

    function sum(frame, of) {
        return frame.groups.reduce((total, g) =>
            total + (g.last - g.first + 1) * g.ops.reduce((t, op) => t + of(op), 0), 0);
    }

    // Loads a script of the book, once.
    const scripts = {};
    function script(path) {
        return scripts[path] ||= new Promise((done, failed) => {
            const node = document.createElement("script");
            node.src = path;
            node.onload = done;
            node.onerror = () => { delete scripts[path]; failed(new Error(`${path} cannot be loaded`)); };
            document.head.append(node);
        });
    }

    // Loads a style sheet of the book, once.
    function sheet(path) {
        if (document.querySelector(`link[href="${path}"]`)) return;
        const node = document.createElement("link");
        Object.assign(node, { rel: "stylesheet", href: path });
        document.head.append(node);
    }

    const maskOf = ops => ops.reduce((mask, op) => mask | op.mask, 0);
    const lanes = frame => frame.groups.reduce((n, g) => n + (g.last - g.first + 1) * count(maskOf(g.ops)), 0);
    const warps = frame => frame.groups.reduce((n, g) => n + g.last - g.first + 1, 0);
    const passes = frame => sum(frame, op => shared(op) ? op.cost : 0);
    const extra = frame => sum(frame, op => op.conflicts);

    class Stepper {
        constructor(figure) {
            this.figure = figure;
            const data = JSON.parse(figure.querySelector("script").textContent);
            this.data = data;
            this.source = data.source;
            this.all = data.frames;
            this.threads = figure.dataset.threads;
            this.kernel = data.step;
            this.worded = this.frames;
            // Open at the frame that the page names.
            this.at = Number(figure.dataset.start) || 0;
            this.warp = 0;
            this.timer = 0;
            this.build();
            this.alone();
            this.show();
        }

        get frames() { return this.all[this.threads]; }
        // On a narrow screen, such as a phone's, cells are drawn taller than wide.
        get narrow() { return this.figure.clientWidth < 480; }
        get frame() { return this.frames[this.at]; }

        build() {
            const { figure } = this;
            const still = figure.querySelector(".stepper-still");
            const stage = html("div", "st-stage");
            still.replaceWith(stage);
            const bar = html("div", "st-bar", stage);
            const button = (text, label, act) => {
                const node = html("button", "", bar, text);
                node.type = "button";
                node.setAttribute("aria-label", label);
                node.addEventListener("click", act);
                return node;
            };
            this.back = button("◀ Back", "Back one round", () => this.go(this.at - 1));
            this.next = button("Next ▶", "On to the next round", () => this.go(this.at + 1));
            this.player = button("Play", "Play all rounds", () => this.toggle());
            this.name = html("span", "st-name", bar);
            const label = html("label", "", bar, "threads ");
            const select = html("select", "", label);
            select.setAttribute("aria-label", "Threads of a block");
            for (const threads of Object.keys(this.all)) {
                const option = html("option", "", select, threads);
                option.selected = threads === this.threads;
            }
            select.addEventListener("change", () => {
                this.threads = select.value;
                this.warp = 0;
                if (this.live) return this.live.changed();
                this.go(this.at);
            });
            this.select = select;
            if (this.data.live) {
                this.change = button(this.changes(), "", () => this.wake());
                this.change.setAttribute("aria-label", `${this.changes()} This loads the interpreter into the page`);
                this.panel = html("div", "st-live", stage);
            }
            this.time = html("div", "st-time", stage);
            this.block = html("div", "st-block", stage);
            this.ops = html("div", "st-ops", stage);
            this.lines = new book.Warp(html("div", "st-warp", stage));
            const key = html("div", "st-key", stage);
            for (const [colour, text] of [["on", "active"], ["off", "idle"], ["read", "reads"],
                ["write", "writes"], ["clash", "waits for a bank"]]) {
                const item = html("span", "", key);
                html("i", "", item).style.background = `var(--f-${colour})`;
                item.append(text);
            }
            this.say = html("p", "st-say", stage);
            this.say.setAttribute("aria-live", "polite");
            this.code = html("div", "st-code", stage);
            this.code.tabIndex = 0;
            this.code.setAttribute("role", "region");
            this.code.setAttribute("aria-label", "Lines of the kernel");
            this.below = html("div", "st-live", stage);
            figure.tabIndex = 0;
            figure.setAttribute("role", "group");
            figure.setAttribute("aria-label", "Rounds of the kernel, step by step: the arrow keys step forwards and back, and the space bar plays");
            figure.addEventListener("keydown", event => this.key(event));
            this.touch(stage);
            let narrow = this.narrow;
            window.addEventListener("resize", () => {
                if (this.narrow !== narrow) this.show();
                narrow = this.narrow;
            });
        }

        // Labels the button with what can be changed in the live figure; a slider is named after
        // the variant whose number it sets.
        changes() {
            const { variants, sms } = this.data.live, knob = variants.find(v => v.knob);
            const all = ["size", "type", "order", sms && "multiprocessors", variants.length && "kernel", knob && knob.name.split("/").pop()];
            return `Change ${all.filter(Boolean).join(", ")}\u00a0…`;
        }

        // Shows one instruction at first: the first with a bank conflict, or else the first on shared
        // memory; buttons select the others. A negative index shows all instructions.
        alone() {
            const { ops } = warpOf(this.frame, this.warp);
            const first = of => ops.findIndex(of);
            this.only = [first(op => op.conflicts), first(shared), 0].find(index => index >= 0);
        }

        // Loads the interpreter; if that fails, the figure stays as it is.
        wake(state) {
            this.stop();
            this.change.disabled = true;
            this.change.textContent = "Loading …";
            return script("live/figure.js").then(() => window.live.open(this, state)).catch(error => {
                this.change.disabled = false;
                this.change.textContent = this.changes();
                this.say.textContent = `${error.message}. The recorded figure stays.`;
            });
        }

        key(event) {
            // In controls that use these keys themselves, the keys do not turn the page.
            if (event.target.closest("select, input, textarea, [data-keys]")) return event.stopPropagation();
            const button = event.target.tagName === "BUTTON";
            const act = {
                ArrowRight: () => this.go(this.at + 1),
                ArrowLeft: () => this.go(this.at - 1),
                ArrowDown: () => this.pick(this.warp + 1),
                ArrowUp: () => this.pick(this.warp - 1),
                Home: () => this.go(0),
                End: () => this.go(this.frames.length - 1),
                " ": button ? undefined : () => this.toggle(),
            }[event.key];
            if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
            // Keep the arrow keys from turning the page.
            event.stopPropagation();
            event.preventDefault();
            act();
        }

        touch(stage) {
            let start = null;
            stage.addEventListener("touchstart", event => {
                start = event.touches.length === 1 ? event.touches[0] : null;
            }, { passive: true });
            stage.addEventListener("touchend", event => {
                if (!start || event.target.closest(".st-code")) return;
                const dx = event.changedTouches[0].clientX - start.clientX;
                const dy = event.changedTouches[0].clientY - start.clientY;
                if (Math.abs(dx) > 40 && Math.abs(dx) > 2 * Math.abs(dy)) this.go(this.at + (dx < 0 ? 1 : -1));
                start = null;
            });
        }

        go(at, playing) {
            if (!playing) this.stop();
            this.at = Math.max(0, Math.min(at, this.frames.length - 1));
            this.alone();
            this.show();
            if (this.live) this.live.moved();
        }

        pick(warp) {
            this.warp = Math.max(0, Math.min(warp, this.threads / LANES - 1));
            this.alone();
            this.show();
            if (this.live) this.live.moved();
        }

        toggle() {
            if (this.timer) return this.stop();
            if (this.at === this.frames.length - 1) this.at = -1;
            const tick = () => {
                this.go(this.at + 1, true);
                if (this.at === this.frames.length - 1) this.stop();
            };
            this.timer = setInterval(tick, 1100);
            this.player.textContent = "Pause";
            tick();
        }

        stop() {
            clearInterval(this.timer);
            this.timer = 0;
            this.player.textContent = "Play";
        }

        show() {
            this.back.disabled = this.at === 0;
            this.next.disabled = this.at === this.frames.length - 1;
            this.name.textContent = `${this.frame.name} · ${this.at + 1}/${this.frames.length}`;
            this.figure.dataset.at = this.at;
            this.drawTime();
            this.drawBlock();
            this.drawOps();
            this.drawWarp();
            this.tell();
            this.word();
        }

        // Draws the rounds from left to right: a bar for the active lanes, red for the passes that
        // conflicts add, and a line for a barrier.
        drawTime() {
            const width = LANES * CELL, height = this.narrow ? 110 : 64, frames = this.frames;
            const step = Math.min(80, width / frames.length);
            const foot = this.narrow ? 30 : 18;
            const root = svg("svg", { viewBox: `0 0 ${width} ${height + 4 + foot}`, role: "img", "aria-label": "All rounds: active lanes, and barriers between them" });
            const most = Math.max(...frames.map(lanes));
            const fits = text => text.length * (this.narrow ? 13 : 7) <= step;
            const cut = new Map();
            const short = name => {
                if (fits(name)) return name;
                const [word, number = ""] = name.split(/ (?=\d+$)/);
                if (!number && word.length < 6 && fits(word.slice(0, 4))) return word;
                const rest = (word === "Round" ? "" : word[0]) + number;
                if (!cut.has(word)) cut.set(word, `${rest}: ${name}`);
                return rest;
            };
            frames.forEach((frame, index) => {
                const group = svg("g", { class: index === this.at ? "now" : "" }, root);
                const x = index * step, tall = Math.max(2, (height - 6) * lanes(frame) / most);
                const red = passes(frame) ? tall * extra(frame) / passes(frame) : 0;
                svg("rect", { class: "hit", x, y: 0, width: step, height: height + 4 }, group)
                    .addEventListener("click", () => this.go(index));
                const pad = Math.max(2, step * 0.18);
                const bar = (name, y, h) => svg("rect", { class: name, x: x + pad, y, width: step - 2 * pad, height: h, "pointer-events": "none" }, group);
                bar("bar", height - tall, tall - red);
                if (red) bar("bar extra", height - red, red);
                // If a bar is too narrow for its name, the name is shortened; if there are many bars, only
                // every nth bar has a name.
                svg("title", {}, group).textContent = frame.name;
                const every = Math.ceil((this.narrow ? 52 : 28) / step);
                if (index % every === 0) {
                    // Keep the first and the last name inside the drawing.
                    const said = short(frame.name), out = x + step > width - 9 && !fits(said);
                    const [at, anchor] = !index && step <= 40 ? [0, "start"] : out ? [x + step, "end"] : [x + step / 2, "middle"];
                    svg("text", { class: "soft bar-name", x: at, y: height + foot, "text-anchor": anchor }, group).textContent = said;
                }
                if (frame.end) svg("line", { class: frame.end, x1: x + step, x2: x + step, y1: 0, y2: height + 4 }, root);
            });
            const label = html("div", "st-label", null, `active lanes in each round, of ${this.threads}${frames.some(extra) ? "; red: the fraction of passes that bank conflicts add" : ""}${[...cut.values()].map(said => `; ${said}`).join("")}`);
            this.time.replaceChildren(label, root);
        }

        // Draws every lane of the block: a row for each warp, a column for each lane.
        drawBlock() {
            const rows = this.threads / LANES, { narrow } = this;
            const tall = (rows <= 8 ? 14 : rows <= 16 ? 9 : 6) * (narrow ? 1.7 : 1), top = narrow ? 26 : 16;
            const root = book.lanesWide(top + rows * tall + 2, narrow, `${lanes(this.frame)} of ${this.threads} lanes active`);
            book.axis(root, top - 5, "lane").setAttribute("x", -9);
            for (const lane of [0, 8, 16, 24, 31]) book.axis(root, top - 5, lane, lane < 31 && "column").setAttribute("x", lane < 31 ? (lane + 0.5) * CELL : LANES * CELL - 1);
            const every = rows <= 8 && !narrow ? 1 : rows <= 16 ? 2 : 4;
            for (let warp = 0; warp < rows; warp++) {
                const { ops } = warpOf(this.frame, warp), y = top + warp * tall;
                const mask = maskOf(ops);
                const clash = ops.reduce((m, op) => op.conflicts ? m | op.mask : m, 0);
                // Use one SVG node for each kind of lane, not for each lane: a block has up to 1024
                // lanes.
                const cells = { clash: "", on: "", off: "" };
                for (let lane = 0; lane < LANES; lane++) {
                    const kind = on(clash, lane) ? "clash" : on(mask, lane) ? "on" : "off";
                    cells[kind] += `M${lane * CELL + 1} ${y + 1}h${CELL - 2}v${tall - 2}h${2 - CELL}z`;
                }
                for (const kind in cells) if (cells[kind]) svg("path", { class: `cells ${kind}`, d: cells[kind] }, root);
                if (warp % every === 0) book.axis(root, y + (narrow ? 20 : 11), warp ? warp : "warp 0");
                const pick = svg("rect", { class: warp === this.warp ? "picked" : "pick", x: 0.7, y: y + 0.2, width: LANES * CELL - 1.4, height: tall - 0.4, rx: 2, "pointer-events": "all" }, root);
                pick.addEventListener("click", () => this.pick(warp));
            }
            const label = html("div", "st-label", null, rows > 1 ? `a row for each warp, a column for each lane; the framed row, warp ${this.warp}, is shown below: pick another` : "the lanes of the block's one warp");
            this.block.replaceChildren(label, root);
        }

        // Shows the accesses of the selected warp, as buttons that select one of them.
        drawOps() {
            const { ops, by } = warpOf(this.frame, this.warp);
            this.ops.replaceChildren();
            html("span", "", this.ops, `warp ${this.warp}: `);
            if (!ops.length) html("span", "", this.ops, "idle");
            ops.forEach((op, index) => {
                const node = html("button", op.conflicts ? "clash" : op.what, this.ops, access(op, by));
                node.type = "button";
                node.setAttribute("aria-pressed", index === this.only);
                node.addEventListener("click", () => {
                    this.only = this.only === index && ops.length > 1 ? -1 : index;
                    this.drawOps();
                    this.drawWarp();
                    this.ops.querySelectorAll("button")[index].focus();
                });
            });
        }

        // Draws the selected warp, with the access that its button selects.
        drawWarp() {
            const { ops, by } = warpOf(this.frame, this.warp);
            const seen = this.only < 0 ? ops : ops.slice(this.only, this.only + 1);
            this.lines.draw({ warp: this.warp, ops: seen, by, narrow: this.narrow });
        }

        // Describes a frame in words.
        describe(frame) {
            const is = what => sum(frame, op => Number(op.what === what));
            const parts = [`${lanes(frame)} of ${this.threads} lanes in ${plural(warps(frame), "warp")} active`];
            if (is("gld")) parts.push(plural(is("gld"), "global load"));
            const touched = [is("ld") && plural(is("ld"), "shared load"), is("st") && plural(is("st"), "shared store")].filter(Boolean);
            if (touched.length) parts.push(`${touched.join(" and ")} in ${plural(passes(frame), "pass", "passes")}`);
            if (is("shfl")) parts.push(plural(is("shfl"), "shuffle"));
            if (extra(frame)) parts.push(`${extra(frame)} of the passes only for bank conflicts`);
            return `${parts.join("; ")}.${frame.end ? ` A ${frame.end} barrier ends it.` : ""}`;
        }

        // Updates "The same in words" to the frames that are shown; at first it has the text built
        // with the book.
        word() {
            const table = this.figure.querySelector("table.words");
            if (!table || this.worded === this.frames) return;
            this.worded = this.frames;
            table.caption.textContent = `The rounds of the first block, which has ${this.threads} threads. Kernel: ${this.kernel}.`;
            // Consecutive rounds or loads with the same description share a row.
            const groups = [];
            for (const frame of this.frames) {
                const said = this.describe(frame), last = groups.at(-1);
                const [, kind, number] = frame.name.match(/^(Round|Load) (\d+)$/) ?? [];
                if (kind && last?.kind === kind && last.said === said) last.name = `${kind}s ${last.first} to ${number}`;
                else groups.push({ name: frame.name, kind, first: number, said });
            }
            const rows = groups.map(({ name, said }) => {
                const row = html("tr");
                html("th", "", row, name).scope = "row";
                html("td", "", row, said);
                return row;
            });
            table.tBodies[0].replaceChildren(...rows);
        }

        tell() {
            const { frame } = this;
            const before = this.frames.slice(0, this.at + 1).filter(f => f.end === "block").length;
            this.say.textContent = `${this.describe(frame)} Block barriers so far: ${before}.`;
            const numbers = new Set(frame.groups.flatMap(g => g.ops.map(op => op.line)).filter(line => line > 0));
            this.code.replaceChildren();
            for (const line of [...numbers].sort((a, b) => a - b).slice(0, 3)) {
                const row = html("div", "", this.code);
                html("span", "n", row, line);
                row.append((this.source[line - 1] || "").trim());
            }
        }
    }

    Object.assign(book, { script, sheet });
    for (const figure of document.querySelectorAll("figure.stepper:not(.live-ladder)")) figure.stepper = new Stepper(figure);

    // The whole ladder, counted in the page: its script, too, is loaded at the first click.
    for (const figure of document.querySelectorAll("figure.live-ladder")) {
        const button = html("button", "", figure.querySelector(".lv-ladder"), "Count all steps here …");
        button.type = "button";
        const wake = () => {
            button.disabled = true;
            return script("live/ladder.js").then(() => window.live.ladder(figure, button)).catch(error => {
                button.disabled = false;
                button.textContent = `${error.message}: once more`;
            });
        };
        button.addEventListener("click", wake);
        if (location.hash.startsWith("#live=ladder")) wake();
    }

    // An exercise: the judge, too, is loaded at the first click. Where the book is served there is a
    // compiler, so a kernel can be written here. Hints are shown one by one.
    for (const box of document.querySelectorAll(".judge")) {
        const figure = document.querySelector("figure.stepper:not(.live-ladder)");
        const above = figure?.stepper.change && ["Judge the kernel of the figure", figure.stepper];
        const here = document.querySelector("meta[name=compile]") && ["Write it here", null];
        for (const [said, stepper, hint] of [above, here, ["Hint", null, true]].filter(Boolean)) {
            const button = html("button", "", box, said);
            button.type = "button";
            button.addEventListener("click", () => script("live/judge.js").then(() => window.live.exercises(box, stepper, hint && button))
                .catch(error => { button.textContent = `${error.message}: once more`; }));
        }
    }

    // Follows a shared link such as `#live=v1-divergence&n=1000&threads=64`, or an earlier one after
    // Back.
    const follow = () => {
        const state = new URLSearchParams(location.hash.slice(1));
        const sent = state.get("live") && document.getElementById(`stepper-${state.get("live")}`);
        if (!sent?.stepper?.change) return;
        sent.scrollIntoView();
        sent.stepper.wake(state);
    };
    follow();
    window.addEventListener("hashchange", follow);
})();
