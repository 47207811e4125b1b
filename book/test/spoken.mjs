// Checks what the figure of v1 says about the words, the distance between lanes and the banks, by
// pointer, touch and key, against the kernel's own index formula and the trace.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

// Formats equally spaced numbers as the figure does: the first three and the last.
const said = list => list.length > 4 ? `${list.slice(0, 3).join(", ")} … ${list.at(-1)}` : list.join(", ");
const range = (count, of) => Array.from({ length: count }, (_, i) => of(i));

export async function spoken(page, tools) {
    const { expect, touch, steps, FIGURE } = tools;
    const step = steps.find(step => step.startsWith("v1-"));
    if (!step || !await touch(page, step)) return;
    const extra = `(${FIGURE}.stepper.frames[${FIGURE}.stepper.at].groups[0].ops.reduce((most, op) => Math.max(most, op.conflicts), 0))`;
    expect(await page.eval(extra) > 0, "v1's figure does not open at a conflict");
    await words(page, tools);
    await pointing(page, tools);
    await distances(page, step, tools);
    await tables(page, step, tools);
    await phone(page, step, tools);
    expect(page.errors.length === 0, `what the figure says: ${page.errors.join(" | ")}`);
}

// In round r, lane t adds word 2st + s to word 2st, with s = 2^(r-1).
async function words(page, { expect, FIGURE }) {
    for (let round = 1; round <= 8; round++) {
        const s = 1 << round - 1, lanes = Math.min(32, 128 / s);
        const left = said(range(lanes, t => 2 * s * t)), right = said(range(lanes, t => 2 * s * t + s));
        await page.eval(`(${FIGURE}.stepper.pick(0), ${FIGURE}.stepper.go(${round}))`);
        const { buttons, above, spot } = await page.eval(`({
            buttons: [...${FIGURE}.querySelectorAll(".st-ops button")].map(b => b.textContent),
            above: ${FIGURE}.querySelector(".st-warp .st-label")?.textContent, spot: ${FIGURE}.querySelector(".st-spot")?.textContent })`);
        const want = lanes > 1 ? text => `words ${text} (${2 * s} apart)` : text => `word ${text},`;
        expect(buttons.length === 3 && [left, right, left].every((text, i) => buttons[i].includes(want(text))),
            `round ${round}: the buttons say ${buttons.join(" | ")} of words ${left} and ${right}`);
        expect(above?.includes(lanes > 1 ? want(left) : `word ${left} `), `round ${round}: above the lanes stands ${above}`);
        const first = range(lanes, t => t).filter(t => 2 * s * t % 32 === 0);
        if (first.length > 1) {
            const all = `bank 0: words ${said(first.map(t => 2 * s * t))} (lanes ${said(first)})`;
            expect(spot?.startsWith(all), `round ${round}: of the bank it says ${spot}, and not ${all}`);
        }
    }
    // In round 1, warp 3 reads other words.
    await page.eval(`(${FIGURE}.stepper.go(1), ${FIGURE}.stepper.pick(3))`);
    const third = await page.eval(`${FIGURE}.querySelector(".st-ops").textContent`);
    expect(third.includes("words 192, 194, 196 … 254 (2 apart)"), `warp 3 in round 1: ${third}`);
    const axes = await page.eval(`[...${FIGURE}.querySelectorAll(".st-block text")].map(t => t.textContent).join(" ")`);
    expect(/lane 0 8 16 24 31/.test(axes) && axes.includes("warp 0"), `the grid's axes say: ${axes}`);
    const label = await page.eval(`${FIGURE}.querySelector(".st-block").textContent`);
    expect(label.includes("a row for each warp") && label.includes("warp 3, is shown below"), `of its rows the grid says: ${label}`);
    await page.eval(`${FIGURE}.stepper.pick(0)`);
}

// Selects a lane or a bank by mouse, by touch and by key.
async function pointing(page, { expect, FIGURE }) {
    const spot = () => page.eval(`${FIGURE}.querySelector(".st-spot")?.textContent`);
    const place = (index, bank) => page.eval(`(() => {
        ${FIGURE}.querySelector(".st-warp").scrollIntoView({ block: "center" });
        const box = ${FIGURE}.querySelectorAll(".st-warp rect${bank ? ":nth-of-type(even)" : ":nth-of-type(odd)"}")[${index}].getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    })()`);
    const mouse = (type, at, more = {}) => page.send("Input.dispatchMouseEvent", { type, ...at, ...more });
    await mouse("mouseMoved", await place(2, true));
    expect(await spot() === "bank 2: words 2, 34 (lanes 1, 17), a pass each", `over bank 2 it says ${await spot()}`);
    const lit = await page.eval(`${FIGURE}.querySelectorAll(".st-warp path.spot").length`);
    expect(lit === 2, `over bank 2 ${lit} lines are marked`);
    await mouse("mouseMoved", await place(5, false));
    expect(await spot() === "lane 5: word 10, in bank 10", `over lane 5 it says ${await spot()}`);
    await mouse("mouseMoved", await place(3, true));
    expect(await spot() === "bank 3: not accessed", `over bank 3 it says ${await spot()}`);
    const there = await place(4, true);
    for (const type of ["mousePressed", "mouseReleased"]) await mouse(type, there, { button: "left", clickCount: 1 });
    await mouse("mouseMoved", { x: 5, y: 5 });
    expect(await spot() === "bank 4: words 4, 36 (lanes 2, 18), a pass each", `bank 4 was clicked, and it says ${await spot()}`);
    const finger = await place(30, true);
    await page.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger] });
    await page.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.eval("new Promise(done => setTimeout(done, 400))");
    expect(await spot() === "bank 30: words 30, 62 (lanes 15, 31), a pass each", `bank 30 was tapped, and it says ${await spot()}`);
    const at = await page.eval(`${FIGURE}.dataset.at`);
    await page.eval(`${FIGURE}.querySelector(".st-warp").focus()`);
    await page.key("ArrowLeft");
    expect((await spot())?.startsWith("bank 29:"), `by key it says ${await spot()}`);
    await page.key("ArrowUp");
    expect(await spot() === "lane 29: word 58, in bank 26", `by key it says ${await spot()}`);
    expect(await page.eval(`${FIGURE}.dataset.at`) === at, "the arrow keys of a bank go on by a round");
    await page.eval(`${FIGURE}.stepper.lines.pick?.(null)`);
}

// The text at the slider: which distances conflict, which kernel the slider belongs to, and why a
// block shows fewer passes than the number of lanes that meet.
async function distances(page, step, { expect, touch, shots, FIGURE, LIVE }) {
    const INPUT = `document.querySelector("input[aria-label^='words from lane to lane']")`;
    const dial = () => page.eval(`(() => { const box = ${FIGURE}.querySelector(".lv-dial");
        return { text: box?.textContent ?? "", grey: !!box?.classList.contains("lv-off"), output: ${INPUT}?.parentNode.querySelector("output").textContent }; })()`);
    const move = to => page.eval(`(async () => {
        const input = ${INPUT}, live = ${LIVE}, before = live.answer;
        input.value = ${to};
        input.dispatchEvent(new Event("input"));
        while (live.answer === before) await new Promise(next => setTimeout(next));
        const { verified, findings, stopped, total, frames } = live.answer;
        const most = Math.max(...frames.flatMap(f => f.groups.flatMap(g => g.ops.map(op => /^(ld|st)$/.test(op.what) ? op.cost : 0))));
        const said = ${FIGURE}.querySelector(".st-spot").textContent, column = ${FIGURE}.querySelectorAll(".lv-counts th")[1].textContent;
        return { verified, findings: findings.length, stopped, extra: total.shared_ld_conflicts, variant: live.variant, most, said, column };
    })()`);
    const turn = threads => page.eval(`(async () => { const s = ${FIGURE}.querySelector("select"), live = ${LIVE}, before = live.answer; s.value = "${threads}"; s.dispatchEvent(new Event("change")); while (live.answer === before) await new Promise(next => setTimeout(next)); })()`);
    const kernel = text => page.eval(`(async () => { const live = ${LIVE}, before = live.answer; [...${FIGURE}.querySelectorAll(".lv-kernels button")].find(b => b.textContent.startsWith("${text}")).click(); while (live.answer === before) await new Promise(next => setTimeout(next)); })()`);
    const own = "with other distances between lanes";
    const first = await dial();
    expect(first.text.includes("words from lane to lane") && first.text.includes(own), `the slider does not say whose it is: ${first.text}`);
    expect(first.grey && first.output === "–", `beside another kernel the slider says ${first.output}`);
    await move(3);
    const moved = await dial();
    expect(!moved.grey && moved.output === "3" && moved.text.includes("You moved it: the kernel is now"), `moved, the slider says ${moved.text}`);
    const pressed = await page.eval(`${FIGURE}.querySelector(".lv-kernels [aria-pressed=true]").textContent`);
    expect(pressed === own, `moved, the kernel is ${pressed}`);
    for (const other of ["unchanged", "the kernel of v0", "without the barrier"]) {
        await kernel(other);
        const { grey, output } = await dial();
        expect(grey && output === "–", `beside the kernel “${other}” the slider says ${output}`);
        await kernel("with other");
    }
    // The largest number of a warp's lanes that would access the same bank if the block had enough
    // words.
    const meet = distance => Math.max(...range(32, bank => range(32, lane => lane * distance % 32).filter(b => b === bank).length));
    for (const threads of [256, 1024]) {
        await turn(threads);
        await page.eval(`(${FIGURE}.stepper.lines.pick(null), ${FIGURE}.stepper.pick(0), ${FIGURE}.stepper.go(1))`);
        for (let distance = 1; distance <= 33; distance++) {
            const answer = await move(distance), { text } = await dial(), place = `a distance of ${distance} words, blocks of ${threads}`;
            expect(answer.verified && !answer.findings && !answer.stopped, `${place}: ${JSON.stringify(answer)}`);
            expect(distance % 2 ? answer.extra === 0 : answer.extra > 0, `${place}: ${answer.extra} extra passes`);
            expect(answer.most === Math.min(meet(distance), threads / 32), `${place}: ${answer.most} passes at the most`);
            const calm = answer.said.startsWith("Each bank delivers at most one word, so no lane waits.");
            expect(calm === (distance % 2 === 1) && answer.column === `${own}: ${distance}`, `${place}: it says ${answer.said}, and counts ${answer.column}`);
            const why = `a block of ${threads} has ${threads} words, ${threads / 32} in each bank`;
            expect(text.includes(why) === answer.most < meet(distance), `${place}, ${answer.most} passes: ${text}`);
        }
    }
    await turn(256);
    await page.open("about:blank");
    await touch(page, step, `#live=${step}&variant=${step}/distance&knob=16`);
    expect(await page.eval(`${LIVE}.shown.source.includes("mov.u32 %0, 16;") && ${LIVE}.shown.ptx.includes(", 16; // the slider")`), "a link with a distance does not open with it");
    const box = await page.eval(`(b => ({ y: Math.floor(b.top + scrollY) - 10, height: Math.ceil(b.height) + 20 }))(${FIGURE}.getBoundingClientRect())`);
    writeFileSync(join(shots, "live-strides.png"), await page.shot({ x: 0, width: 1000, scale: 1, ...box }));
}

// "The same in words" describes the picture that is shown, also for other block sizes and kernels.
async function tables(page, step, { expect, url, touch, FIGURE, LIVE }) {
    const rows = () => page.eval(`(() => { const t = ${FIGURE}.querySelector("table.words"); return { caption: t.caption.textContent, rows: [...t.rows].map(r => r.textContent.trim()) }; })()`);
    const frames = () => page.eval(`${FIGURE}.stepper.frames.map(f => f.name)`);
    await page.open("about:blank");
    await page.open(url(step));
    const woven = await rows();
    await page.eval(`(() => { const s = ${FIGURE}.querySelector("select"); s.value = "64"; s.dispatchEvent(new Event("change")); })()`);
    const small = await rows(), names = await frames();
    expect(woven.rows.length === 10 && small.rows.length === names.length && names.every((name, i) => small.rows[i].startsWith(name)) && small.caption.includes("64 threads") && small.rows[0].includes("64 of 64 lanes"),
        `in words, blocks of 64: ${small.caption} ${small.rows.join(" | ")}`);
    await page.open("about:blank");
    await touch(page, step, `#live=${step}&variant=${step}/distance&knob=32&threads=1024`);
    const far = await rows();
    const passes = await page.eval(`${LIVE}.answer.frames[1].groups.reduce((n, g) => n + (g.last - g.first + 1) * g.ops.reduce((t, op) => t + op.cost, 0), 0)`);
    expect(far.caption.includes("1024 threads") && far.caption.includes("with other distances") && far.rows.length === 12 && far.rows[1].includes("512 of 1024 lanes") && far.rows[1].includes(`in ${passes} passes`),
        `in words, another kernel and block: ${far.caption} ${far.rows[1]}, of ${passes} passes`);
}

// On a phone, the slider and the banks fit on one screen, and nothing is cut off.
async function phone(page, step, { expect, url, touch, FIGURE }) {
    await page.size(390, 667, false);
    await page.open("about:blank");
    await page.open(url(step));
    const change = await page.eval(`${FIGURE}.stepper.change.textContent`);
    expect(["size", "type", "order", "kernel", "distance"].every(what => change.includes(what)), `the button says ${change}`);
    for (const [knob, threads] of [[2, 256], [32, 256], [31, 1024]]) {
        await page.open("about:blank");
        await touch(page, step, `#live=${step}&variant=${step}/distance&knob=${knob}&threads=${threads}&round=1`);
        const { far, cut } = await page.eval(`(() => {
            const top = document.querySelector("input[aria-label^='words from lane to lane']").getBoundingClientRect().top;
            const boxes = [...${FIGURE}.querySelectorAll(".lv-counts, .st-code, .lv-lines, .st-ops")];
            return { far: ${FIGURE}.querySelector(".st-spot, .st-warp").getBoundingClientRect().bottom - top, cut: boxes.filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.className) };
        })()`);
        expect(far <= 600, `a distance of ${knob}, blocks of ${threads}: from the slider to the banks it is ${far} px on a phone`);
        expect(cut.length === 0, `on a phone these are cut: ${cut}`);
    }
    await page.size(1000, 900, false);
}
