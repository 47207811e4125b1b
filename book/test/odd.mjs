// Tests the live figure with unusual input: hand-written addresses, Back and Forward, a page of 320 px,
// a zoom of 200 %, and print.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export async function odd(page, tools) {
    await addresses(page, tools);
    await back(page, tools);
    await narrow(page, tools);
    await paper(page, tools);
}

const state = (page, { FIGURE, LIVE }) => page.eval(`({ n: ${LIVE}.n, threads: ${FIGURE}.stepper.threads, type: ${LIVE}.type, order: ${LIVE}.order, variant: ${LIVE}.variant, knob: ${LIVE}.set ?? null,
    at: Number(${FIGURE}.dataset.at), frames: ${FIGURE}.stepper.frames.length, said: document.querySelector(".lv-said").textContent })`);

// An invalid value is ignored, and a value that is too large is clamped. A figure opens in every case, and its
// sum is correct (on a busy machine, the largest number of elements may exceed its limit of two seconds).
async function addresses(page, tools) {
    const { expect, touch, steps } = tools;
    const step = steps.find(step => step.startsWith("v1-")) ?? steps[0];
    const all = [
        ["", {}],
        ["n=0", { n: 0 }],
        ["n=", { n: 4096 }],
        ["n=-5", { n: 0 }],
        ["n=12.7", { n: 12 }],
        ["n=1e3", { n: 1000 }],
        ["n=many&threads=7&type=f16&order=backwards&sms=x&variant=no-such&knob=-1", { n: 4096, threads: "256", type: "f32", order: "converged", variant: step, knob: 2 }],
        ["n=99999999999999999999&type=i32", { n: 1 << 20, type: "i32" }],
        ["n=Infinity", { n: 1 << 20 }],
        ["n=NaN", { n: 4096 }],
        ["round=-3", {}],
        ["round=2.5", { at: 2 }],
        ["round=1e9", { at: "last" }],
        ["round=abc", {}],
        ["threads=constructor&variant=__proto__&type=toString", { threads: "256", variant: step, type: "f32" }],
        ["variant=%3Cimg%20src%3Dx%3E&order=%00", { variant: step, order: "converged" }],
        [`variant=${step}/distance&knob=16.9`, { variant: `${step}/distance`, knob: 16 }],
    ];
    let tried = 0;
    for (const [words, want] of all) {
        await page.open("about:blank");
        if (!await touch(page, step, `#live=${step}&${words}`)) continue;
        const got = await state(page, tools);
        const same = Object.entries(want).every(([key, value]) => got[key] === (value === "last" ? got.frames - 1 : value));
        expect(same && got.at >= 0 && got.at < got.frames && (got.said.includes("Right") || got.n === 1 << 20 && got.said.includes("ended after 2 s")), `#${words}: ${JSON.stringify(got)}, and not ${JSON.stringify(want)}`);
        expect(page.errors.length === 0, `#${words}: ${page.errors.join(" | ")}`);
        tried += 1;
    }
    // An address that names a step that is not on this page, or does not exist, leaves the page
    // unchanged.
    for (const words of ["live=v99-none", "live=", "live=menu-bar", "live=%", "live=v0-naive"]) {
        await page.open("about:blank");
        await page.open(tools.url(step, `#${words}`));
        const there = await page.eval(`!!${tools.FIGURE}.stepper.change?.isConnected && !document.querySelector(".lv-said")`);
        expect(there && page.errors.length === 0, `#${words}: ${page.errors.join(" | ") || "something is loaded"}`);
        tried += 1;
    }
    console.log(`${tried} odd addresses open a figure that is right, or the page as it is`);
}

// A link within the page, then Back: the figure shows the state that the address names. Then another
// page, and Back.
async function back(page, tools) {
    const { expect, touch, until, steps, url, FIGURE, LIVE } = tools;
    const step = steps.find(step => step.startsWith("v1-")) ?? steps[0];
    await page.open("about:blank");
    await touch(page, step, `#live=${step}&n=1000&threads=64`);
    await page.eval(`(location.hash = "#live=${step}&n=33&threads=128&type=f64", 0)`);
    const shows = (n, threads, type) => until(page, `${LIVE}.n === ${n} && ${LIVE}.answer?.launches[0]?.n === ${n} && ${FIGURE}.stepper.threads === "${threads}" && ${LIVE}.type === "${type}" && ${LIVE}.field.value === "${n}"`);
    expect(await shows(33, 128, "f64"), `another link in the same page: ${JSON.stringify(await state(page, tools))}`);
    await page.eval(`(history.back(), 0)`);
    expect(await shows(1000, 64, "f32"), `Back: ${JSON.stringify(await state(page, tools))}`);
    await page.eval(`(history.forward(), 0)`);
    expect(await shows(33, 128, "f64"), `Forward: ${JSON.stringify(await state(page, tools))}`);
    const twice = await page.eval(`[...document.querySelectorAll(".lv-controls, .lv-counts, .lv-code, .lv-dial")].map(n => n.className.split(" ").pop()).sort().join()`);
    expect(twice === [...new Set(twice.split(","))].join(), `what is there after Back: ${twice}`);
    expect(page.errors.length === 0, `Back: ${page.errors.join(" | ")}`);
    const other = steps.at(-1);
    await page.open(url(other));
    const loaded = page.once("Page.loadEventFired");
    await page.eval(`(setTimeout(() => history.back()), 0)`);
    await loaded;
    expect(await until(page, `!!${FIGURE}.stepper.live?.answer`) && await shows(33, 128, "f64"), "Back from another page does not open the figure again");
    // A page has one live figure: its interpreter handles one question at a time, and an address names one figure.
    for (const step of steps) {
        await page.open(url(step));
        const figures = await page.eval(`[...document.querySelectorAll("figure.stepper")].filter(f => f.stepper?.change).length`);
        expect(figures === 1, `${step} has ${figures} live figures`);
    }
}

// On the smallest screen, and at a zoom of 200 %, nothing overflows, and a finding can be read.
async function narrow(page, { expect, touch, steps, shots, FIGURE }) {
    for (const step of [steps.find(step => step.startsWith("v1-")) ?? steps[0], steps.at(-1)]) {
        for (const [width, height, scale] of [[320, 568, 1], [500, 450, 2]]) {
            await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: width < 400 });
            await page.open("about:blank");
            await touch(page, step, `#live=${step}&variant=${step}/no-barrier`);
            const place = `${step} at ${width} px, ${scale} times`;
            const over = await page.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`);
            expect(over <= 1, `${place}: the live figure sticks out by ${over} px`);
            const cut = await page.eval(`[...${FIGURE}.querySelectorAll(".lv-controls, .lv-kernels, .lv-said, .lv-found, .lv-lines, .lv-dial, .st-ops")].filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.className)`);
            expect(cut.length === 0, `${place}: cut are ${cut}`);
            const box = await page.eval(`(b => ({ y: Math.floor(b.top + scrollY) - 10, height: Math.ceil(b.height) + 20 }))(${FIGURE}.getBoundingClientRect())`);
            writeFileSync(join(shots, `live-${step}-${width}.png`), await page.shot({ x: 0, width, scale: 1, ...box }));
            await page.eval(`(document.querySelector(".lv-bar button").click(), 0)`);
            await page.eval("new Promise(done => setTimeout(done, 400))");
            const wide = await page.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`);
            expect(wide <= 1 && await page.eval(`document.querySelector(".lv-edit textarea")?.clientWidth ?? 0`) > 180, `${place}: the editor sticks out by ${wide} px, or has no room`);
        }
    }
    await page.size(1000, 900, false);
}

// In print, the findings and the complete kernel are shown, but no controls and no labels of
// controls.
async function paper(page, { expect, touch, until, steps, FIGURE }) {
    const step = steps.find(step => step.startsWith("v1-")) ?? steps[0];
    await page.open("about:blank");
    await touch(page, step, `#live=${step}&variant=${step}/no-barrier`);
    expect(await until(page, `document.querySelectorAll(".lv-found li").length > 0 && document.querySelectorAll(".lv-line").length > 20`), "no finding where the barrier is missing");
    await page.send("Emulation.setEmulatedMedia", { media: "print" });
    const seen = await page.eval(`(() => {
        const shown = name => [...${FIGURE}.querySelectorAll(name)].filter(n => n.checkVisibility()).length;
        const lines = document.querySelector(".lv-side[data-side=source] .lv-lines");
        return { findings: shown(".lv-found button"), controls: shown("label, select, input, .st-ops, .lv-controls, .lv-kernels, .lv-bar"), hidden: lines.scrollHeight - lines.clientHeight, counts: shown(".lv-counts tr") };
    })()`);
    expect(seen.findings > 0 && seen.controls === 0 && seen.hidden <= 1 && seen.counts > 3, `on paper: ${JSON.stringify(seen)}`);
    await page.send("Emulation.setEmulatedMedia", { media: "" });
}
