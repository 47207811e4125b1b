// The editor for a kernel's PTX and, if the book is served, for its CUDA source. It is a plain text
// area with line numbers and a verdict that is updated as the reader types.
"use strict";

(() => {
    const { html } = book;

    live.Editor = class {
        constructor(text, name, changed) {
            this.box = html("div", "lv-edit");
            this.box.dataset.keys = "";
            this.numbers = html("pre", "lv-numbers", this.box);
            this.numbers.setAttribute("aria-hidden", "true");
            const area = this.area = html("textarea", "", this.box);
            Object.assign(area, { spellcheck: false, wrap: "off", value: text });
            area.setAttribute("autocapitalize", "off");
            area.setAttribute("aria-label", name);
            area.addEventListener("input", () => { this.number(); changed(); });
            area.addEventListener("scroll", () => { this.numbers.scrollTop = area.scrollTop; });
            // Keep the arrow keys from turning the page.
            area.addEventListener("keydown", event => event.stopPropagation());
            this.number();
        }

        // Faulty lines have a mark at their number, and a band that scrolls with the text.
        number(bad = new Set()) {
            const count = this.area.value.split("\n").length;
            const lines = [...bad].filter(line => line <= count), { style } = this.area;
            style.backgroundImage = lines.map(() => "linear-gradient(var(--lv-band), var(--lv-band))").join();
            style.backgroundPosition = lines.map(line => `0 calc(0.3em + ${line - 1}lh)`).join();
            this.numbers.replaceChildren(...Array.from({ length: count }, (_, i) => html("span", bad.has(i + 1) ? "lv-wrong" : "", null, `${i + 1}\n`)));
            this.numbers.scrollTop = this.area.scrollTop;
        }

        // Puts the caret in a line, and scrolls so that the line is a few lines below the top.
        show(line) {
            const { area } = this;
            const at = Number.isFinite(line) ? area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1) : 0;
            area.focus();
            area.setSelectionRange(at, at);
            if (Number.isFinite(line)) area.scrollTop = (line - 4) * parseFloat(getComputedStyle(area).lineHeight);
        }
    };

    // Returns the PTX of a source for each of these types, or an error with its line.
    live.compile = async (kernel, types, source) => {
        try {
            const answer = await fetch("/compile", { method: "POST", headers: { "X-Compile": live.served }, body: JSON.stringify({ kernel, types, source }) });
            return await answer.json();
        } catch (error) {
            return { error: `the compile server does not respond (${error.message}): start \`cargo x book --serve\` and reload this page` };
        }
    };

    // Opens an editor for one of the two listings: `what` is "source" or "ptx".
    live.edit = (lines, what) => {
        lines.leave?.();
        const { figure } = lines;
        const cuda = what === "source";
        const { box } = lines[what];
        const wrong = () => {
            const { findings, stopped } = figure.answer;
            const of = stopped?.match(cuda ? / at line (\d+)/ : /PTX line (\d+)/);
            return new Set([...findings.flatMap(f => cuda ? f.lines : f.ptx_lines), Number(of?.[1])]);
        };
        let timer = 0, turn = 0;
        const again = async () => {
            const mine = ++turn, text = editor.area.value;
            if (!cuda) return figure.edit({ ptx: text }).then(() => editor.number(wrong()));
            const made = await live.compile(figure.kernel.name, [figure.type], text);
            if (mine !== turn || !editor.box.isConnected) return;
            if (made.error) {
                editor.number(new Set([made.line]));
                return figure.refuse(made.error);
            }
            await figure.edit({ source: text, ptx: made.ptx[figure.type] });
            editor.number(wrong());
        };
        const editor = new live.Editor(figure.shown[what], `Editor for the ${cuda ? "CUDA source" : "PTX"}; press Escape to leave`, () => {
            clearTimeout(timer);
            timer = setTimeout(again, cuda ? 250 : 120);
        });
        box.replaceWith(editor.box);
        const button = lines.buttons[what];
        const back = html("button", "", button.parentElement, `Back to the committed ${cuda ? "kernel" : "PTX"}`);
        back.type = "button";
        const leave = () => {
            clearTimeout(timer);
            turn += 1;
            if (!editor.box.isConnected) return;
            editor.box.replaceWith(box);
            button.hidden = false;
            back.remove();
            lines.leave = lines.again = lines.open = undefined;
        };
        lines.leave = leave;
        lines.open = { what, editor };
        // When the type changes, the same text is compiled again.
        lines.again = cuda ? again : undefined;
        back.addEventListener("click", () => { leave(); figure.edit(null); button.focus(); });
        editor.area.addEventListener("keydown", event => { if (event.key === "Escape") { leave(); button.focus(); } });
        button.hidden = true;
        editor.number(wrong());
        // Show the first instruction.
        editor.show(cuda ? 1 : Math.min(...Object.keys(lines.answer.ptx).map(Number)));
    };
})();
