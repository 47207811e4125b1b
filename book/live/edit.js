// The PTX as a text to be edited: a plain text area, whose lines are numbered, and a verdict while
// one types.
"use strict";

live.edit = (lines, parent) => {
    const { html } = book;
    const { figure, ptx, button } = lines;
    const box = html("div", "lv-edit");
    const numbers = html("pre", "lv-numbers", box);
    numbers.setAttribute("aria-hidden", "true");
    const area = html("textarea", "", box);
    Object.assign(area, { spellcheck: false, wrap: "off", value: figure.shown.ptx });
    area.setAttribute("autocapitalize", "off");
    area.setAttribute("aria-label", "PTX, to be edited; Escape leaves");
    ptx.box.replaceWith(box);
    const wrong = () => {
        const { findings, stopped } = figure.answer;
        const of = stopped?.match(/PTX line (\d+)/);
        return new Set([...findings.flatMap(f => f.ptx_lines), Number(of?.[1])]);
    };
    const number = () => {
        const bad = wrong();
        const count = area.value.split("\n").length;
        numbers.replaceChildren(...Array.from({ length: count }, (_, i) => html("span", bad.has(i + 1) ? "lv-wrong" : "", null, `${i + 1}\n`)));
    };
    const first = Math.min(...Object.keys(lines.answer.ptx).map(Number));
    let timer = 0;
    area.addEventListener("input", () => {
        clearTimeout(timer);
        number();
        timer = setTimeout(() => figure.edit(area.value).then(number), 120);
    });
    area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });
    const back = html("button", "", button.parentElement, "Back to the committed PTX");
    back.type = "button";
    const leave = () => {
        clearTimeout(timer);
        if (!box.isConnected) return;
        box.replaceWith(ptx.box);
        button.hidden = false;
        back.remove();
        lines.leave = undefined;
    };
    lines.leave = leave;
    back.addEventListener("click", () => { leave(); figure.edit(null); button.focus(); });
    area.addEventListener("keydown", event => { if (event.key === "Escape") { leave(); button.focus(); } });
    button.hidden = true;
    number();
    area.focus();
    area.setSelectionRange(0, 0);
    // The first instruction is a few lines below the top.
    if (Number.isFinite(first)) area.scrollTop = (first - 4) * parseFloat(getComputedStyle(area).lineHeight);
};
