// A slider that sets a number in one variant of a kernel, and switches to that variant when it is moved. It
// is placed above the picture that it changes.
"use strict";

live.dial = figure => {
    const { name, label: kernel, knob } = figure.knob, { stepper } = figure;
    const box = book.html("div", "st-live lv-dial"), label = book.html("label", "", box, `${knob.label} `);
    stepper.ops.before(box);
    const input = book.html("input", "", label);
    Object.assign(input, { type: "range", min: knob.from, max: knob.to, step: 1, value: figure.set });
    input.setAttribute("aria-label", `${knob.label}, in the kernel “${kernel}”`);
    const shown = book.html("output", "", label);
    const said = book.html("p", "lv-of", box);
    said.setAttribute("role", "status");
    let turned = false;
    input.addEventListener("input", () => {
        turned ||= figure.variant !== name || figure.edited !== null;
        figure.set = Number(input.value);
        figure.variant = name;
        figure.leave();
        figure.changed();
    });

    // While another kernel is shown, the slider is grey and shows no number.
    figure.dialled = () => {
        const mine = figure.variant === name && figure.edited === null;
        turned &&= mine;
        box.classList.toggle("lv-off", !mine);
        shown.textContent = mine ? figure.set : "–";
        said.textContent = !mine ? `It belongs to the kernel “${kernel}”: move it to show that kernel.`
            : `${turned ? "You moved it: the kernel is now" : "This is the kernel"} “${kernel}”.${room()}`;
    };

    // Explains why fewer lanes meet in a bank than the distance suggests: the block has too few
    // words.
    function room() {
        const wide = figure.type === "f64" ? 2 : 1, threads = Number(stepper.threads), each = threads * wide / 32;
        const banks = new Map();
        for (let lane = 0; lane < 32; lane++) {
            const bank = lane * figure.set * wide % 32;
            banks.set(bank, (banks.get(bank) ?? 0) + 1);
        }
        const meet = Math.max(...banks.values());
        const round = "lanes beyond the last word continue with free words at the start";
        if (meet <= each) return 32 * figure.set > threads ? ` The block has ${threads * wide} words; ${round}.` : "";
        return ` At this distance, ${meet} lanes of a warp would share a bank. But a block of ${threads} has ${threads * wide} words, ${each} in each bank: ${round}, so at most ${each} do. With 1024 threads, all ${meet} do.`;
    }
    figure.dialled();
};

// Replaces the number in a kernel's source and in its PTX.
live.put = ({ source, ptx }, number) => {
    const put = text => text.replace(/(mov\.u32 \s*[^,]+, )\d+(; \/\/ the slider)/, `$1${number}$2`);
    return { source: put(source), ptx: put(ptx) };
};
