// A headless Chromium, controlled through its debugging pipe; it needs no package besides Node.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
    constructor(program) {
        this.profile = mkdtempSync(join(tmpdir(), "book-test-"));
        // Chromium's sandbox does not work in a container, where shared memory is small too.
        const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--remote-debugging-pipe", `--user-data-dir=${this.profile}`];
        this.process = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
        this.next = 1;
        this.waiting = new Map();
        this.listeners = new Set();
        let rest = "";
        this.process.stdio[4].on("data", data => {
            const parts = (rest + data).split("\0");
            rest = parts.pop();
            parts.forEach(part => this.receive(JSON.parse(part)));
        });
    }

    receive(message) {
        const wait = this.waiting.get(message.id);
        if (!wait) return this.listeners.forEach(listener => listener(message));
        this.waiting.delete(message.id);
        if (message.error) wait.reject(new Error(message.error.message));
        else wait.resolve(message.result);
    }

    send(method, params = {}, sessionId) {
        const id = this.next++;
        this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
        return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    }

    async page() {
        const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
        const page = new Page(this, sessionId);
        for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
        return page;
    }

    async close() {
        await this.send("Browser.close").catch(() => {});
        await new Promise(done => this.process.exitCode === null ? this.process.once("exit", done) : done());
        rmSync(this.profile, { recursive: true, force: true, maxRetries: 3 });
    }
}

class Page {
    constructor(browser, session) {
        this.browser = browser;
        this.session = session;
        this.errors = [];
        // The prefix of the addresses that a page may request in addition to files.
        this.served = "";
        browser.listeners.add(({ method, params, sessionId }) => {
            if (sessionId !== session) return;
            if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
            if (method === "Runtime.consoleAPICalled" && params.type === "error") this.errors.push(params.args.map(a => a.value ?? a.description).join(" "));
            if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(`${params.entry.text} ${params.entry.url ?? ""}`);
            if (method === "Network.requestWillBeSent" && !/^(file|data|about|blob):/.test(params.request.url) && !(this.served && params.request.url.startsWith(this.served))) this.errors.push(`asks for ${params.request.url}`);
        });
    }

    send(method, params) { return this.browser.send(method, params, this.session); }

    once(event) {
        return new Promise(resolve => {
            const listener = ({ method, sessionId }) => {
                if (method !== event || sessionId !== this.session) return;
                this.browser.listeners.delete(listener);
                resolve();
            };
            this.browser.listeners.add(listener);
        });
    }

    async size(width, height, dark) {
        await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
        await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    }

    async open(url) {
        this.errors.length = 0;
        const loaded = this.once("Page.loadEventFired");
        await this.send("Page.navigate", { url });
        await loaded;
    }

    // Returns the value of an expression in the page; a promise is awaited.
    async eval(expression) {
        const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    async key(key, code = key) {
        for (const type of ["keyDown", "keyUp"]) await this.send("Input.dispatchKeyEvent", { type, key, code });
    }

    async shot(clip) {
        const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
        return Buffer.from(data, "base64");
    }
}
