// The picture of one warp in a stepper: its lanes above, the 32 banks below, and a line for each access.
// A lane or bank that is pointed at, tapped, or reached by arrow keys is described in words.
"use strict";

(() => {
    const { LANES, on, shared, bankOf, touched, words, banks, ofBank, ofLane } = book.access;
    const CELL = 20;
    const NS = "http://www.w3.org/2000/svg";

    function svg(name, attributes, parent) {
        const node = document.createElementNS(NS, name);
        for (const key in attributes) node.setAttribute(key, attributes[key]);
        if (parent) parent.append(node);
        return node;
    }

    function html(name, className, parent, text) {
        const node = document.createElement(name);
        if (className) node.className = className;
        if (text !== undefined) node.textContent = text;
        if (parent) parent.append(node);
        return node;
    }

    // The names of the rows are left of the lanes: on a phone, letters are larger than cells.
    const gutter = narrow => narrow ? 99 : 52;

    // Creates a drawing whose columns are lanes, with room for names at its left.
    function lanesWide(height, narrow, label) {
        return svg("svg", { viewBox: `${-gutter(narrow)} 0 ${LANES * CELL + gutter(narrow)} ${height}`, role: "img", "aria-label": label });
    }

    function name(root, y, text, more = "") {
        const node = svg("text", { class: `soft axis ${more}`, x: -3, y }, root);
        node.textContent = text;
        return node;
    }

    class Warp {
        constructor(box) {
            this.box = box;
            this.above = html("div", "st-label", box);
            this.stage = html("div", "", box);
            this.below = html("div", "st-label", box);
            this.told = html("p", "st-spot", box);
            this.told.setAttribute("role", "status");
            box.tabIndex = 0;
            box.setAttribute("role", "group");
            // The selected lane or bank, which stays selected from picture to picture; none at
            // first.
            this.spot = null;
            const at = event => this.under(event);
            this.stage.addEventListener("pointermove", event => { if (event.pointerType === "mouse") this.point(at(event)); });
            this.stage.addEventListener("pointerleave", () => this.point(this.spot));
            this.stage.addEventListener("click", event => this.pick(at(event)));
            box.addEventListener("keydown", event => this.key(event));
        }

        // Finds the lane or bank below a pointer: the nearer row, the nearest column.
        under({ clientX, clientY }) {
            const frame = this.root.getBoundingClientRect(), { x, width } = this.root.viewBox.baseVal;
            const at = Math.floor(((clientX - frame.left) / frame.width * width + x) / CELL);
            const bank = this.usesBanks && clientY > frame.top + frame.height / 2;
            return { bank, at: Math.max(0, Math.min(LANES - 1, at)) };
        }

        pick(spot) {
            this.spot = spot;
            this.point(spot);
        }

        key(event) {
            if (event.target !== this.box || event.ctrlKey || event.altKey || event.metaKey) return;
            const { bank, at } = this.spot && (this.usesBanks || !this.spot.bank) ? this.spot : this.usual;
            const to = {
                ArrowLeft: { bank, at: Math.max(0, at - 1) }, ArrowRight: { bank, at: Math.min(LANES - 1, at + 1) },
                ArrowUp: { bank: false, at }, ArrowDown: { bank: this.usesBanks, at },
            }[event.key];
            if (!to) return;
            // Otherwise the key would also advance the figure by a round.
            event.stopPropagation();
            event.preventDefault();
            this.pick(to);
        }

        draw({ warp, ops, by, narrow }) {
            Object.assign(this, { ops, by });
            const tall = narrow ? 22 : 16, top = 1, bottom = narrow ? 190 : 135;
            this.usesBanks = ops.some(shared);
            const stores = ops.length > 0 && ops.every(op => op.what === "st");
            const clashes = this.usesBanks && ops.some(op => op.conflicts);
            const root = this.root = lanesWide(this.usesBanks ? bottom + tall + (clashes ? (narrow ? 30 : 24) : 2) : 80, narrow, `Warp ${warp}: its lanes and the banks that they touch`);
            const x = index => index * CELL + CELL / 2;
            const most = new Array(LANES).fill(0);
            this.wires = [];
            for (const op of ops) {
                const kind = op.conflicts ? "clash" : op.what === "st" ? "write" : "read";
                const wire = (d, lane, bank) => this.wires.push({ node: svg("path", { class: kind, d }, root), lane, bank });
                // Draw a line to the bank of each word: a lane that accesses 16 bytes has four
                // lines.
                if (shared(op)) touched(op, by).forEach((first, lane) => {
                    for (let word = first; word < first + (op.wide || 1); word++) wire(`M${x(lane)} ${top + tall}L${x(bankOf(word))} ${bottom}`, lane, bankOf(word));
                });
                // An access of 8 or 16 bytes per lane takes more than one pass, but that is not a
                // conflict.
                banks(op, by).forEach(({ size }, bank) => { most[bank] = Math.max(most[bank], op.conflicts ? size : Math.min(1, size)); });
                if (op.what === "shfl" && op.cost) {
                    for (let lane = 0; lane + op.cost < LANES; lane++) {
                        const from = x(lane + op.cost), to = x(lane);
                        wire(`M${from} ${top + tall}Q${(from + to) / 2} ${top + tall + 18 + 5 * op.cost} ${to} ${top + tall}`, lane);
                    }
                }
            }
            const mask = ops.reduce((m, op) => m | op.mask, 0), waits = ops.reduce((m, op) => op.conflicts ? m | op.mask : m, 0);
            const cell = (kind, index, y) => svg("rect", { class: kind, x: index * CELL + 1, y, width: CELL - 2, height: tall }, root);
            this.cells = { lane: [], bank: [] };
            for (let index = 0; index < LANES; index++) {
                this.cells.lane.push(cell(on(waits, index) ? "clash" : on(mask, index) ? "on" : "off", index, top));
                if (this.usesBanks) this.cells.bank.push(cell(most[index] > 1 ? "clash" : most[index] ? (stores ? "bank stored" : "bank") : "off", index, bottom));
                if (most[index] > 1) svg("text", { class: "count", x: x(index), y: bottom + tall + (narrow ? 25 : 18) }, root).textContent = most[index];
            }
            name(root, top + tall - (narrow ? 1 : 4), "lanes");
            if (this.usesBanks) name(root, bottom + tall - 4, "banks");
            const said = ops.length === 1 && shared(ops[0]) ? `: ${words(ops[0], by)} of shared memory` : "";
            this.above.textContent = `warp ${warp}, lanes 0 to 31${said}`;
            this.below.textContent = !this.usesBanks ? "" : `banks 0 to 31${clashes ? ", and the words that the warp accesses in each; a bank delivers one per pass; point at a bank for details" : ""}`;
            this.box.setAttribute("aria-label", `Lanes${this.usesBanks ? " and banks" : ""} of warp ${warp}: left and right go from one to the next${this.usesBanks ? ", up and down from lanes to banks" : ""}`);
            this.stage.replaceChildren(root);
            // Until the reader points at something, a bank with the most words is shown.
            this.usual = { bank: this.usesBanks, at: Math.max(0, most.indexOf(Math.max(...most))) };
            this.clashes = clashes;
            this.calm = !this.usesBanks || clashes ? "" : most.some(count => count) && ops.every(op => banks(op, by).every(asked => asked.size < 2))
                ? "Each bank delivers at most one word, so no lane waits. " : "No lane waits for a bank. ";
            this.point(this.spot);
        }

        // Marks a lane or a bank, with the lines to it, and describes what it touches.
        point(spot) {
            const shown = spot && (this.usesBanks || !spot.bank) ? spot : this.clashes ? this.usual : null;
            for (const kind of ["lane", "bank"]) this.cells[kind].forEach((node, index) => node.classList.toggle("spot", !!shown && shown.at === index && shown.bank === (kind === "bank")));
            for (const { node, lane, bank } of this.wires) node.classList.toggle("spot", !!shown && (shown.bank ? bank : lane) === shown.at);
            const text = shown ? (shown.bank ? ofBank : ofLane)(this.ops, this.by, shown.at)
                : this.ops.length ? `${this.calm}Point at a lane${this.usesBanks ? " or a bank" : ""} to see what it accesses.` : "";
            if (this.told.textContent !== text) this.told.textContent = text;
        }
    }

    Object.assign(book, { svg, html, Warp, lanesWide, axis: name });
})();
