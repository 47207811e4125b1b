// Opens every page of the built book as a reader would: `node book/test/pages.mjs CHROMIUM BOOK [PAGE]`.
//
// At three widths, and at one of them also in the dark theme, a page must cause no error and no request
// to another host, and nothing may overflow. The other tests cover the steppers by key, button and
// touch, the slider, the search, and a page without JavaScript. A page with a fault is stored as a
// screenshot in book/test/shots/; with SHOTS=1, every page at every width is stored, in both themes.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";
import { LEGIBLE } from "./legible.mjs";

const [program, book, only] = process.argv.slice(2);
const shots = join(dirname(fileURLToPath(import.meta.url)), "shots");
const pages = readdirSync(book).filter(name => name.endsWith(".html") && !["404.html", "toc.html", "print.html"].includes(name) && (!only || name.includes(only)));
const url = (page, rest = "") => pathToFileURL(join(resolve(book), page)).href + rest;
const faults = [];
const all = process.env.SHOTS === "1";
const LOOKS = [[360, false], [800, false], [1400, false], [800, true], ...(all ? [[360, true], [1400, true]] : [])];
let checks = 0;

function expect(good, what) {
    checks += 1;
    if (!good) faults.push(what);
}

// Finds elements that overflow the page and are not in a box that scrolls.
const OVERFLOW = `(() => {
    const width = document.documentElement.clientWidth;
    const boxed = node => {
        for (let up = node.parentElement; up && up !== document.body; up = up.parentElement) {
            const style = getComputedStyle(up);
            if (/(auto|scroll|hidden)/.test(style.overflowX) && up.getBoundingClientRect().right <= width + 1) return true;
        }
        return false;
    };
    const out = [...document.querySelectorAll("main *")].filter(node => {
        const box = node.getBoundingClientRect();
        return box.width > 0 && box.right > width + 1 && !boxed(node);
    });
    const page = document.documentElement.scrollWidth > width + 1 ? ["the page itself: " + document.documentElement.scrollWidth] : [];
    return page.concat(out.slice(0, 3).map(node => node.tagName + "." + (node.className.baseVal ?? node.className) + " " + node.textContent.trim().slice(0, 40)));
})()`;

// Finds text that extends beyond its figure, such as an SVG label that is cut off at the edge.
const CUT = `[...document.querySelectorAll("main svg")].flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) return [];
    return [...svg.querySelectorAll("text")].filter(text => {
        const box = text.getBoundingClientRect();
        return box.right > frame.right + 1 || box.left < frame.left - 1;
    }).map(text => text.textContent);
}).slice(0, 5)`;

async function look(page) {
    for (const name of pages) {
        for (const [width, dark] of LOOKS) {
            const before = faults.length;
            await page.size(width, 900, dark);
            await page.open(url(name));
            const place = `${name}, ${width} px, ${dark ? "dark" : "light"}`;
            const over = await page.eval(OVERFLOW);
            expect(over.length === 0, `${place}: overflows: ${over.join(" | ")}`);
            const cut = await page.eval(CUT);
            expect(cut.length === 0, `${place}: text cut off: ${cut.join(" | ")}`);
            const theme = await page.eval(`document.documentElement.classList.contains("navy")`);
            expect(theme === dark, `${place}: the theme does not follow the reader's`);
            const hard = await page.eval(LEGIBLE);
            expect(hard.length === 0, `${place}: ${hard.join(" | ")}`);
            expect(page.errors.length === 0, `${place}: ${page.errors.join(" | ")}`);
            // A screenshot of a long page takes longer than all checks of that page.
            if (!all && faults.length === before) continue;
            const height = Math.min(await page.eval("document.documentElement.scrollHeight"), 16000);
            const file = join(shots, `${name.replace(".html", "")}-${width}-${dark ? "dark" : "light"}.png`);
            writeFileSync(file, await page.shot({ x: 0, y: 0, width, height, scale: 1 }));
        }
    }
}

async function step(page) {
    for (const name of pages) {
        await page.size(800, 900, false);
        await page.open(url(name));
        const count = await page.eval(`document.querySelectorAll("figure.stepper:not(.live-ladder)").length`);
        for (let index = 0; index < count; index++) {
            const figure = `document.querySelectorAll("figure.stepper:not(.live-ladder)")[${index}]`;
            const at = () => page.eval(`Number(${figure}.dataset.at)`);
            const place = `${name}, stepper ${index + 1}`;
            await page.eval(`${figure}.stepper.go(0)`);
            await page.eval(`${figure}.focus()`);
            await page.key("ArrowRight");
            await page.key("ArrowRight");
            expect(await at() === 2, `${place}: two keys forward lead to ${await at()}`);
            await page.key("ArrowLeft");
            expect(await at() === 1, `${place}: a key back leads to ${await at()}`);
            expect(await page.eval("location.pathname").then(path => path.endsWith(name)), `${place}: the arrow keys turn the page`);
            await page.eval(`${figure}.querySelectorAll(".st-bar button")[1].click()`);
            expect(await at() === 2, `${place}: the button Next leads to ${await at()}`);
            await page.eval(`${figure}.querySelectorAll(".st-bar button")[0].click()`);
            expect(await at() === 1, `${place}: the button Back leads to ${await at()}`);
            await swipe(page, figure, -120);
            expect(await at() === 2, `${place}: a swipe leads to ${await at()}`);
            await page.eval(`${figure}.querySelectorAll(".st-bar button")[2].click()`);
            await page.eval("new Promise(done => setTimeout(done, 1300))");
            expect(await at() >= 3, `${place}: played for a second, it is at ${await at()}`);
            await page.eval(`${figure}.querySelectorAll(".st-bar button")[2].click()`);
            const rest = await at();
            await page.eval("new Promise(done => setTimeout(done, 1200))");
            expect(await at() === rest, `${place}: paused, it goes on`);
            for (const threads of await page.eval(`[...${figure}.querySelectorAll("option")].map(o => o.value)`)) {
                await page.eval(`{ const s = ${figure}.querySelector("select"); s.value = "${threads}"; s.dispatchEvent(new Event("change")); }`);
                await page.eval(`${figure}.stepper.go(99)`);
                expect(await page.eval(`${figure}.querySelector(".st-say").textContent.includes(" of ${threads} lanes")`), `${place}: blocks of ${threads} are not shown`);
            }
        }
        if (await page.eval(`!!document.querySelector("figure.slider")`)) {
            const says = () => page.eval(`document.querySelector(".sl-say").textContent`);
            const large = await says();
            await page.eval(`{ const i = document.querySelector(".slider input"); i.value = 0; i.dispatchEvent(new Event("input")); }`);
            expect(large !== await says() && /in all runs|between runs/.test(large), `${name}: the slider says ${large}`);
        }
        expect(page.errors.length === 0, `${name}, while stepping: ${page.errors.join(" | ")}`);
    }
}

async function swipe(page, figure, dx) {
    const { x, y } = await page.eval(`(() => { ${figure}.scrollIntoView({ block: "center" }); const b = ${figure}.querySelector(".st-warp").getBoundingClientRect(); return { x: b.x + b.width / 2, y: b.y + b.height / 2 }; })()`);
    await page.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    await page.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x: x + dx, y }] });
    await page.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

// The skip link, the first element that Tab reaches, skips the sidebar and leaves the address
// unchanged.
async function skip(page) {
    await page.size(1400, 900, false);
    await page.open(url("index.html"));
    await page.key("Tab");
    const first = await page.eval(`document.activeElement.textContent`);
    expect(first === "Skip to the text", `the first stop of the tab key is: ${first}`);
    await page.eval(`document.activeElement.click()`);
    expect(await page.eval(`document.activeElement.tagName`) === "MAIN", "the skip link leads elsewhere");
    expect(await page.eval(`location.hash`) === "", "the skip link changes the address");
}

// In print there are no menus and no controls, every answer is open, and nothing is cut off at the
// right: A4 minus the margins of book.css is 680 px wide.
async function paper(page) {
    for (const name of pages) {
        await page.size(680, 960, false);
        await page.open(url(name));
        await page.send("Emulation.setEmulatedMedia", { media: "print" });
        const shown = await page.eval(`[...document.querySelectorAll(".st-bar button, #mdbook-menu-bar, #mdbook-sidebar, .nav-chapters, .skip")].filter(n => n.getClientRects().length > 0).length`);
        expect(shown === 0, `${name}: on paper ${shown} controls are shown`);
        const shut = await page.eval(`[...document.querySelectorAll("main details")].filter(d => d.lastElementChild.getClientRects().length === 0).length`);
        expect(shut === 0, `${name}: on paper ${shut} answers are folded`);
        const wide = await page.eval(`[...document.querySelectorAll("main pre, main table, main svg, main p")].filter(n => n.getBoundingClientRect().right > 681 || n.scrollWidth > n.clientWidth + 1 && n.tagName === "PRE").map(n => n.tagName + " " + n.textContent.trim().slice(0, 40)).slice(0, 3)`);
        expect(wide.length === 0, `${name}: on paper cut off: ${wide.join(" | ")}`);
        await page.send("Emulation.setEmulatedMedia", { media: "" });
    }
}

// The field's terms, and the page about each, which must be among the first three search results.
const WORDS = [
    ["vectorized load", "v8-wide-loads"], ["unaligned", "row-sum"], ["occupancy", "roofline"], ["Little's law", "the-machine"],
    ["roofline", "roofline"], ["polling", "v11-mailbox"], ["release/acquire", "v9-single-pass"],
    ["persistent kernel", "v7-grid-stride"], ["reduction", "what-is-a-reduction"], ["reproducible", "determinism"],
    ["bank conflict", "v2-bank-conflicts"], ["shuffle", "v6-shuffle"], ["cooperative groups", "other-ways"],
];

async function search(page) {
    await page.size(800, 900, false);
    await page.open(url("index.html"));
    await page.eval(`document.querySelector("#mdbook-search-toggle").click()`);
    for (const [word, about] of WORDS) {
        if (!pages.includes(`${about}.html`)) continue;
        await page.eval(`{ const bar = document.querySelector("#mdbook-searchbar"); document.querySelector("#mdbook-searchresults").replaceChildren(); bar.value = ${JSON.stringify(word)}; bar.dispatchEvent(new KeyboardEvent("keyup", { key: "t" })); bar.dispatchEvent(new Event("input")); }`);
        let found = [];
        for (let tries = 0; tries < 40 && found.length === 0; tries++) {
            await page.eval("new Promise(done => setTimeout(done, 100))");
            found = await page.eval(`[...document.querySelectorAll("#mdbook-searchresults a")].map(a => a.getAttribute("href"))`);
        }
        const first = found.slice(0, 3).map(to => to.replace(/[?#].*[#]/, "#"));
        console.log(`search "${word}": ${first.join(", ")}`);
        expect(first.some(to => to.includes(`${about}.html`)), `the search for "${word}" does not find ${about}: ${first.join(", ")}`);
    }
    expect(page.errors.length === 0, `the search: ${page.errors.join(" | ")}`);
    writeFileSync(join(shots, "search.png"), await page.shot());
}

async function unscripted(page) {
    await page.send("Emulation.setScriptExecutionDisabled", { value: true });
    await page.size(800, 900, false);
    for (const name of pages) {
        await page.open(url(name));
        const { root } = await page.send("DOM.getDocument", { depth: 1 });
        const all = async selector => (await page.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector })).nodeIds.length;
        const steppers = await all("figure.stepper:not(.live-ladder)");
        const stills = await all("figure.stepper svg.still");
        expect(steppers === 0 || stills >= steppers, `${name}: without JavaScript a stepper shows nothing`);
        const [timelines, films] = [await all("figure.timeline"), await all("figure.timeline svg.still")];
        expect(films >= timelines, `${name}: without JavaScript a timeline shows nothing`);
        if (steppers && all) writeFileSync(join(shots, `${name.replace(".html", "")}-unscripted.png`), await page.shot());
    }
    await page.send("Emulation.setScriptExecutionDisabled", { value: false });
}

mkdirSync(shots, { recursive: true });
const browser = new Browser(program);
try {
    const page = await browser.page();
    for (const part of [look, step, search, skip, paper, unscripted]) {
        const began = Date.now();
        await part(page);
        console.log(`${part.name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    }
} finally {
    await browser.close();
}
faults.forEach(fault => console.log(fault));
console.log(`${checks - faults.length} passed, ${faults.length} failed: ${pages.length} pages${all ? "; screenshots are in book/test/shots/" : ""}`);
process.exitCode = faults.length ? 1 : 0;
