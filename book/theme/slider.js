// The size slider: shows each step's time at the selected size, and which step is the fastest in
// all runs.
"use strict";

(() => {
    const power = n => Number.isInteger(Math.log2(n)) ? Math.log2(n) : null;

    function size(n, parent) {
        parent.replaceChildren();
        if (power(n) === null) return parent.append(n.toLocaleString("en"), " elements");
        parent.append("2");
        const up = document.createElement("sup");
        up.textContent = power(n);
        parent.append(up, " elements");
    }

    const micros = us => us < 100 ? `${us.toFixed(1)} µs` : us < 1000 ? `${us.toFixed(0)} µs` : `${(us / 1000).toFixed(2)} ms`;

    function node(name, className, parent, text) {
        const made = document.createElement(name);
        made.className = className;
        if (text !== undefined) made.textContent = text;
        parent.append(made);
        return made;
    }

    // The figure opens at the size at which the most steps differ from the previous step.
    function telling(rows, steps) {
        const differ = ({ us }) => us.slice(1, steps).reduce((sum, t, i) =>
            t && us[i] ? sum + Math.min(Math.abs(Math.log(us[i] / t)), 0.1) : sum, 0);
        return rows.reduce((best, row, i) => differ(row) > differ(rows[best]) ? i : best, 0);
    }

    function build(figure) {
        const { names, steps, rows } = JSON.parse(figure.querySelector("script").textContent);
        const stage = document.createElement("div");
        figure.querySelector(".slider-still").replaceWith(stage);
        const head = node("label", "sl-head", stage);
        const shown = node("span", "sl-size", head);
        const input = node("input", "", head);
        Object.assign(input, { type: "range", min: 0, max: rows.length - 1, step: 1, value: telling(rows, steps) });
        input.setAttribute("aria-label", "Number of elements");
        const grid = node("div", "sl-rows", stage);
        const say = node("p", "sl-say", stage);
        say.setAttribute("aria-live", "polite");
        const show = () => {
            const { n, us, bus, first } = rows[input.value];
            size(n, shown);
            input.setAttribute("aria-valuetext", power(n) === null ? `${n}` : `2 to the power of ${power(n)}`);
            const most = Math.max(...us.filter(t => t !== null));
            grid.replaceChildren();
            names.forEach((name, index) => {
                if (us[index] === null) return;
                const winner = first.includes(index);
                node("span", winner ? "sl-row-best" : "", grid, name);
                const track = node("div", "sl-track", grid);
                const fill = node("div", `sl-fill${winner ? " best" : ""}${index >= steps ? " peer" : ""}`, track);
                fill.style.width = `${100 * us[index] / most}%`;
                node("span", `sl-value${winner ? " sl-row-best" : ""}`, grid, micros(us[index]));
            });
            const who = first.map(index => names[index]);
            say.textContent = `${who.length > 1 ? `Tie between runs: ${who.join(", ")}` : `First in all runs: ${who[0]}`}. The bus alone would take ${micros(bus)}.`;
        };
        input.addEventListener("input", show);
        // The arrow keys move the slider, and must not turn the page.
        input.addEventListener("keydown", event => event.stopPropagation());
        show();
    }

    document.querySelectorAll("figure.slider").forEach(build);
})();
