// The kernel and its PTX, side by side, with the cost of each line. Selecting a line in one listing
// highlights the corresponding lines in the other. The PTX can be edited.
"use strict";

(() => {
    const { html } = book;

    // A listing: the arrow keys move between its rows, and Tab stops at it only once.
    class Listing {
        constructor(parent, title, chosen) {
            this.title = html("div", "lv-title", parent, title);
            this.box = html("div", "lv-lines", parent);
            this.box.tabIndex = 0;
            this.box.setAttribute("role", "listbox");
            this.box.setAttribute("aria-label", `${title}; use the arrow keys to move between lines`);
            this.rows = new Map();
            const at = event => Number(event.target.closest(".lv-line")?.dataset.line ?? NaN);
            this.box.addEventListener("mouseover", event => { if (!Number.isNaN(at(event))) chosen(at(event)); });
            this.box.addEventListener("click", event => { if (!Number.isNaN(at(event))) chosen(at(event)); });
            this.box.addEventListener("keydown", event => {
                const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
                if (!by) return;
                event.preventDefault();
                const lines = [...this.rows.keys()];
                const next = lines[Math.max(0, Math.min(lines.length - 1, lines.indexOf(this.at) + by))];
                chosen(next);
                this.rows.get(next)?.scrollIntoView({ block: "nearest" });
            });
        }

        // If the text is the same, only the counts change.
        fill(rows) {
            const texts = rows.map(row => row.line + row.text).join("\n");
            if (texts === this.texts) {
                for (const { line, count } of rows) {
                    const cell = this.rows.get(line).children[1];
                    if (cell.textContent !== count) cell.textContent = count;
                }
                return;
            }
            this.texts = texts;
            this.rows.clear();
            this.box.replaceChildren(...rows.map(({ line, text, count, said }) => {
                const row = html("div", "lv-line");
                row.id = `${this.prefix}-${line}`;
                row.setAttribute("role", "option");
                row.dataset.line = line;
                html("span", "lv-no", row, line);
                html("span", "lv-count", row, count).title = said;
                html("code", "", row, text || " ");
                this.rows.set(line, row);
                return row;
            }));
        }

        light(lines, kind) {
            for (const [line, row] of this.rows) row.classList.toggle(kind, lines.has(line));
        }
    }

    live.Lines = class {
        constructor(parent, figure) {
            this.figure = figure;
            const side = name => { const node = html("div", "lv-side", parent); node.dataset.side = name; return node; };
            this.source = new Listing(side("source"), "Kernel", line => this.choose(line));
            this.source.prefix = `${figure.step}-cu`;
            this.ptx = new Listing(side("ptx"), "PTX", line => this.choose(this.from.get(line) ?? 0, line));
            this.ptx.prefix = `${figure.step}-ptx`;
            this.told = html("p", "lv-told", parent, "");
            this.told.setAttribute("aria-live", "polite");
            const bar = html("div", "lv-bar", parent);
            // Editing CUDA needs a compiler, which only a server has.
            live.served = document.querySelector("meta[name=compile]")?.content;
            this.buttons = {};
            for (const [what, said] of [...(live.served ? [["source", "Edit the CUDA"]] : []), ["ptx", "Edit the PTX"]]) {
                const node = this.buttons[what] = html("button", "", bar, said);
                node.type = "button";
                node.addEventListener("click", () => this.edit(what));
            }
        }

        show(kernel, answer) {
            this.answer = answer;
            const insts = line => answer.lines[line]?.warp_insts;
            const count = n => n === undefined ? "" : n.toLocaleString("en");
            this.source.fill(kernel.source.trimEnd().split("\n").map((text, i) => ({ line: i + 1, text, count: count(insts(i + 1)), said: "warp instructions for this line" })));
            // Show the PTX that was executed, and a few lines around it.
            this.from = new Map(Object.entries(answer.ptx).map(([line, [source]]) => [Number(line), source]));
            const lines = kernel.ptx.split("\n"), ran = [...this.from.keys(), ...answer.findings.flatMap(f => f.ptx_lines), answer.stopped_at?.[0] ?? 0].filter(Boolean);
            const first = Math.max(1, Math.min(...ran, lines.length) - 3), last = Math.min(lines.length, Math.max(...ran, 1) + 3);
            const rows = [];
            for (let line = first; line <= last; line++) rows.push({ line, text: lines[line - 1], count: count(answer.ptx[line]?.[1]), said: "warp instructions" });
            this.ptx.fill(rows);
            const bad = answer.findings.flatMap(f => f.lines), badPtx = answer.findings.flatMap(f => f.ptx_lines);
            const at = answer.stopped?.match(/ at line (\d+)/), ptxAt = answer.stopped?.match(/PTX line (\d+)/);
            if (at) bad.push(Number(at[1]));
            if (ptxAt) badPtx.push(Number(ptxAt[1]));
            this.source.light(new Set(bad), "lv-wrong");
            this.ptx.light(new Set(badPtx), "lv-wrong");
            this.told.textContent = "Each line has its number of warp instructions. Point at a line to highlight its PTX and to show its counts here.";
        }

        // Highlights a line of the source, with its PTX.
        choose(line, ptxLine) {
            const of = new Set([...this.from].filter(([, source]) => source === line && line > 0).map(([ptx]) => ptx));
            if (ptxLine) of.add(ptxLine);
            this.source.at = line;
            this.ptx.at = ptxLine ?? Math.min(...of);
            this.source.light(new Set([line]), "lv-lit");
            this.ptx.light(of, "lv-lit");
            if (!ptxLine && of.size) {
                const row = this.ptx.rows.get(Math.min(...of)), { box } = this.ptx;
                box.scrollTop = row.offsetTop - box.offsetTop - box.clientHeight / 3;
            }
            for (const { box, rows, at } of [this.source, this.ptx]) {
                for (const row of rows.values()) row.removeAttribute("aria-selected");
                const row = rows.get(at);
                row?.setAttribute("aria-selected", "true");
                if (row) box.setAttribute("aria-activedescendant", row.id);
            }
            const counts = Object.entries(this.answer.lines[line] ?? {}).map(([key, n]) => `${key.replaceAll("_", " ")} ${n.toLocaleString("en")}`);
            this.told.textContent = `Line ${line}: ${counts.join(", ") || "no instructions"}.`;
        }

        // Brings the lines of a finding into view, also in an open editor.
        point(lines, ptxLines) {
            this.choose(lines.find(Boolean) ?? 0, ptxLines[0]);
            for (const [what, at] of [["source", lines.find(Boolean)], ["ptx", ptxLines[0]]]) {
                const listing = this[what], row = listing.rows.get(at);
                if (this.open?.what === what && at) this.open.editor.show(at);
                if (row) listing.box.scrollTop = row.offsetTop - listing.box.offsetTop - listing.box.clientHeight / 3;
            }
        }

        async edit(what) {
            await book.script("live/edit.js");
            live.edit(this, what);
        }
    };
})();
