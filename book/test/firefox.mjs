// The live figures in Firefox: `node book/test/firefox.mjs FIREFOX BOOK PROGRAMS`.
//
// From a disk: each step's figure opens with the counts and findings of the native program, PTX can be edited, an endless
// kernel is stopped, and an exercise is judged. Firefox is controlled through Marionette, its own remote control, which
// needs no package besides Node.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { counts, findings } from "./equal.mjs";

const [program, book, programs] = process.argv.slice(2);
const steps = readdirSync(book).filter(name => /^v\d+-.*\.html$/.test(name)).map(name => name.replace(".html", ""))
    // v13 has no live figure: its bins take the interpreter too long.
    .filter(name => name !== "v13-exact-sum").sort((a, b) => parseInt(a.slice(1)) - parseInt(b.slice(1)));
const FIGURE = `document.querySelector("figure.stepper")`;
const LIVE = `${FIGURE}.stepper.live`;
const faults = [];
let checks = 0;

function expect(good, what) {
    checks += 1;
    if (!good) faults.push(what);
}

const sleep = ms => new Promise(done => setTimeout(done, ms));

class Firefox {
    async start() {
        this.profile = mkdtempSync(join(tmpdir(), "book-test-"));
        writeFileSync(join(this.profile, "user.js"), `user_pref("marionette.port", 0);\n`);
        this.process = spawn(program, ["--headless", "--marionette", "--no-remote", "--profile", this.profile], { stdio: "ignore" });
        const port = join(this.profile, "MarionetteActivePort");
        for (const end = Date.now() + 60000; !existsSync(port) || !readFileSync(port, "utf8");) {
            if (Date.now() > end) throw new Error(`${program} does not start within a minute`);
            await sleep(100);
        }
        this.waiting = [];
        this.rest = Buffer.alloc(0);
        this.socket = connect(Number(readFileSync(port, "utf8")), "127.0.0.1");
        const hello = new Promise(done => this.waiting.push(done));
        this.socket.on("data", data => this.receive(data));
        await hello;
        await this.send("WebDriver:NewSession", {});
        await this.send("WebDriver:SetTimeouts", { script: 120000, pageLoad: 60000 });
    }

    // A message consists of its length, a colon, and JSON.
    receive(data) {
        this.rest = Buffer.concat([this.rest, data]);
        for (;;) {
            const colon = this.rest.indexOf(":");
            const length = Number(this.rest.subarray(0, Math.max(colon, 0)));
            if (colon < 0 || this.rest.length < colon + 1 + length) return;
            const message = JSON.parse(this.rest.subarray(colon + 1, colon + 1 + length));
            this.rest = this.rest.subarray(colon + 1 + length);
            this.waiting.shift()(message);
        }
    }

    async send(command, parameters) {
        const text = JSON.stringify([0, this.next = (this.next ?? 0) + 1, command, parameters]);
        const answer = new Promise(done => this.waiting.push(done));
        this.socket.write(`${Buffer.byteLength(text)}:${text}`);
        const [, , error, result] = await answer;
        if (error) throw new Error(error.message);
        return result;
    }

    open(url) { return this.send("WebDriver:Navigate", { url }); }

    // Returns the value of an expression in the page; a promise is awaited.
    async eval(expression) {
        const script = `const done = arguments[arguments.length - 1];
            Promise.resolve().then(() => window.eval(${JSON.stringify(expression)})).then(value => done({ value }), error => done({ error: String(error) }));`;
        const { value } = await this.send("WebDriver:ExecuteAsyncScript", { script, args: [], sandbox: null });
        if (value.error) throw new Error(value.error);
        return value.value;
    }

    async until(expression, ms = 20000) {
        for (const end = Date.now() + ms; Date.now() < end; await sleep(30)) if (await this.eval(expression)) return true;
        return false;
    }

    async close() {
        await this.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
        this.socket?.destroy();
        await Promise.race([new Promise(done => this.process.exitCode === null ? this.process.once("exit", done) : done()), sleep(10000)]);
        if (this.process.exitCode === null) this.process.kill();
        rmSync(this.profile, { recursive: true, force: true, maxRetries: 3 });
    }
}

// Opens a step's figure as a reader does.
async function touch(page, name) {
    await page.open(pathToFileURL(join(resolve(book), `${name}.html`)).href);
    const loaded = await page.eval(`performance.getEntriesByType("resource").map(e => e.name).filter(name => name.includes("/book/live/"))`);
    expect(loaded.length === 0, `${name}: before the first touch it loads ${loaded}`);
    await page.eval(`(${FIGURE}.stepper.change.click(), 0)`);
    const there = await page.until(`!!${FIGURE}.dataset.live`);
    expect(there, `${name}: no live figure: ${await page.eval(`${FIGURE}.textContent.slice(0, 300)`)}`);
    return there;
}

async function edited(page) {
    // The judge refuses the chapter's own kernel until it is edited.
    await touch(page, "v1-divergence");
    await page.eval(`(${LIVE}.edit({ ptx: ${LIVE}.shown.ptx + "\\n" }).then(() => document.querySelector(".judge button").click()), 0)`);
    expect(await page.until(`!!document.querySelector(".judge").dataset.judged`, 60000), "no exercise is judged");
    const said = await page.eval(`document.querySelector(".lv-verdict").textContent`);
    expect(said.startsWith("exercise 2") && said.endsWith("passed"), `exercise 2: ${said}`);
    await page.eval(`(document.querySelector(".lv-bar button").click(), 0)`);
    expect(await page.until(`!!document.querySelector(".lv-edit textarea")`), "the PTX cannot be edited");
    await sleep(300);
    const beside = await page.eval(`(() => { const [a, n] = [".lv-edit textarea", ".lv-numbers"].map(name => document.querySelector(name)); return [a.getBoundingClientRect().top - n.getBoundingClientRect().top, a.scrollTop - n.scrollTop, a.scrollTop]; })()`);
    expect(Math.abs(beside[0]) < 1 && Math.abs(beside[1]) <= 1 && beside[2] > 100, `the numbers of lines stand not beside them: ${beside}`);
    await page.eval(`(() => { const area = document.querySelector(".lv-edit textarea"); area.value = area.value.replace("add.f32", "sub.f32"); area.dispatchEvent(new Event("input")); })()`);
    expect(await page.until(`document.querySelector(".lv-said").textContent.includes("is wrong")`), "a subtraction is not found");
    const { stopped, ms } = await page.eval(`(async () => {
        const kernel = await live.bring("v1-divergence", "f32"), began = performance.now();
        const ptx = kernel.ptx.replace(/bar\\.sync[^;]*;/, "bar.sync 0;\\nAGAIN: bra AGAIN;");
        const { stopped } = await live.ask({ step: "v1-divergence", ptx, n: 4096, type: "f32", threads: 256, budget: 1e12 });
        return { stopped, ms: performance.now() - began };
    })()`);
    expect(stopped?.includes("ended after 2 s") && ms < 5000, `an endless kernel: ${stopped} after ${ms} ms`);
    expect((await page.eval(`live.bring("v1-divergence", "f32").then(k => live.ask({ step: "v1-divergence", ptx: k.ptx, n: 33, type: "f32", threads: 64 }))`)).verified, "after an endless kernel the page is of no use");
    const shots = join(dirname(fileURLToPath(import.meta.url)), "shots");
    mkdirSync(shots, { recursive: true });
    const { value } = await page.send("WebDriver:TakeScreenshot", { full: false });
    writeFileSync(join(shots, "live-firefox.png"), Buffer.from(value, "base64"));
}

const page = new Firefox();
try {
    await page.start();
    const tools = { expect, touch, steps, programs, FIGURE, LIVE };
    for (const part of [counts, findings, edited]) await part(page, tools).catch(error => expect(false, `${part.name}: ${error.stack}`));
} finally {
    await page.close();
}
faults.slice(0, 40).forEach(fault => console.log(fault));
console.log(`${checks - faults.length} passed, ${faults.length} failed: live figures of ${steps.length} chapters in Firefox`);
process.exitCode = faults.length ? 1 : 0;
