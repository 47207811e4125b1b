// A slider that sets a number in a variant of a kernel; whoever moves it sees that variant.
"use strict";

live.dial = (figure, box) => {
    const { name, knob } = figure.knob;
    box.className = "lv-size";
    const input = book.html("input", "", box);
    Object.assign(input, { type: "range", min: knob.from, max: knob.to, step: 1, value: figure.set });
    input.setAttribute("aria-label", knob.label);
    const shown = book.html("output", "", box, figure.set);
    input.addEventListener("input", () => {
        figure.set = Number(input.value);
        shown.textContent = figure.set;
        figure.variant = name;
        figure.leave();
        figure.changed();
    });
};

// The number in a kernel's source and in its PTX.
live.put = ({ source, ptx }, number) => {
    const put = text => text.replace(/(mov\.u32 \s*[^,]+, )\d+(; \/\/ the slider)/, `$1${number}$2`);
    return { source: put(source), ptx: put(ptx) };
};
