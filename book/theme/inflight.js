// Bytes in flight: three sliders describe a kernel, and its mark moves in the plot. Without this script
// the plot shows the measured kernels only.
"use strict";

(() => {
    const SVG = "http://www.w3.org/2000/svg";

    function node(name, className, parent, text) {
        const made = document.createElement(name);
        if (className) made.className = className;
        if (text !== undefined) made.textContent = text;
        parent.append(made);
        return made;
    }

    function mark(parent, name, attributes) {
        const made = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
        parent.append(made);
        return made;
    }

    function build(figure) {
        const { idle, busy, sms, axis, points } = JSON.parse(figure.querySelector("script").textContent);
        const mine = figure.querySelector(".mine");
        const x = kib => axis.left + (axis.right - axis.left) * Math.log2(kib / axis.from) / Math.log2(axis.to / axis.from);
        const y = share => axis.bottom - (axis.bottom - axis.top) * share;
        const panel = document.createElement("div");
        panel.className = "inflight-panel";
        figure.querySelector(".plot").before(panel);
        // The sliders: label, values, and index of the initial value. They start at v0: one float per
        // thread.
        const sliders = [
            ["bytes of a load", [4, 8, 16], 0],
            ["loads in flight in a thread", [1, 2, 4, 8, 16], 0],
            ["threads on an SM", [256, 512, 1024, 1536, 2048], 4],
        ].map(([title, values, start]) => {
            const label = node("label", "", panel);
            const head = node("span", "", label, `${title}: `);
            const shown = node("strong", "", head);
            const input = node("input", "", label);
            Object.assign(input, { type: "range", min: 0, max: values.length - 1, step: 1, value: start });
            return { title, values, shown, input };
        });
        const say = node("p", "inflight-say", panel);
        say.setAttribute("aria-live", "polite");
        const percent = share => `${Math.round(100 * Math.min(1, share))} %`;
        const show = () => {
            const [bytes, loads, threads] = sliders.map(slider => {
                const value = slider.values[slider.input.value];
                slider.shown.textContent = value;
                slider.input.setAttribute("aria-valuetext", `${value} ${slider.title}`);
                return value;
            });
            const kib = bytes * loads * threads / 1024;
            const at = x(Math.min(axis.to, Math.max(axis.from, kib)));
            mine.replaceChildren();
            mark(mine, "path", { d: `M${at} ${axis.top}V${axis.bottom}` });
            const ends = [kib / busy, kib / idle].map(share => y(Math.min(1, share)));
            mark(mine, "path", { class: "span", d: `M${at} ${ends[0]}V${ends[1]}` });
            const registers = bytes * loads / 4;
            const near = points.reduce((a, b) => Math.abs(Math.log(b.kib / kib)) < Math.abs(Math.log(a.kib / kib)) ? b : a);
            const outside = kib < axis.from ? " (left of the plot)" : kib > axis.to ? " (right of the plot)" : "";
            say.textContent = `${kib} KiB in flight on an SM${outside}, ${(kib * sms / 1024).toFixed(1)} MiB on the GPU, `
                + `in ${registers} ${registers === 1 ? "register" : "registers"} of each thread. `
                + `That allows ${percent(kib / busy)} of peak bandwidth at v7's wait, and ${percent(kib / idle)} at the latency of an idle GPU. `
                + `The nearest kernel that was measured: ${near.name}, ${near.kib.toFixed(0)} KiB, ${percent(near.share)}.`;
        };
        for (const { input } of sliders) {
            input.addEventListener("input", show);
            // The arrow keys move the slider, and must not turn the page.
            input.addEventListener("keydown", event => event.stopPropagation());
        }
        show();
    }

    document.querySelectorAll("figure.inflight").forEach(build);
})();
