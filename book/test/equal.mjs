// Compares a page's counts and findings with those of the native programs, in any browser.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = ["f32", "i32", "f64"], SIZES = [1, 33, 257, 1025, 4109, 65549];
const KERNELS = join(dirname(dirname(fileURLToPath(import.meta.url))), "live/kernels");
const sleep = ms => new Promise(done => setTimeout(done, ms));

// Checks that each count of the page equals the program's.
export async function counts(page, { expect, touch, steps, programs, FIGURE }) {
    let asked = 0;
    for (const step of steps) {
        if (!await touch(page, step)) continue;
        const threads = await page.eval(`[...${FIGURE}.stepper.select.options].map(o => o.value)`);
        const text = execFileSync(join(programs, step), ["--device", "simt", "--n", SIZES.join(), "--type", TYPES.join(), "--threads", threads.join(), "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 26 });
        for (const record of text.trim().split("\n").map(line => JSON.parse(line))) {
            const answer = await page.eval(`(async () => {
                const kernel = await live.bring("${step}", "${record.type}");
                return live.ask({ step: "${step}", ptx: kernel.ptx, source: kernel.source, n: ${record.n}, type: "${record.type}", threads: ${record.threads}, checks: true });
            })()`);
            const place = `${step}, ${record.type}, n = ${record.n}, blocks of ${record.threads}`;
            const { launches, ...total } = record.counts;
            const same = Object.keys(total).length > 10 && Object.keys(total).every(key => answer.total[key] === total[key])
                && answer.launches.length === launches.length
                && launches.every((launch, i) => Object.keys(launch).every(key => answer.launches[i].counts[key] === launch[key]));
            expect(same, `${place}: the page counts ${JSON.stringify(answer.total)} (${answer.stopped}), the program ${JSON.stringify(total)}`);
            expect(answer.sum === record.sum && answer.verified === record.verified && answer.findings.length === 0,
                `${place}: the page's sum is ${answer.sum}, the program's ${record.sum}; findings: ${answer.findings.length}`);
            asked += 1;
        }
        expect(!page.errors?.length, `${step}: ${page.errors?.join(" | ")}`);
    }
    console.log(`${asked} sums counted in the page as by the programs`);
}

// Parses the findings that a program printed, with their details, and the number of findings.
function printed(said) {
    const all = said.split(/^ {2}FOUND /m).slice(1).map(part => part.split(/\n\n|\nerror: |\n {12}and \d+ more/)[0].replace(/\s+/g, " ").trim());
    return { all, count: all.length + Number(said.match(/^ {12}and (\d+) more like these/m)?.[1] ?? 0) };
}

// Checks the prepared wrong kernels: the page must report the same findings as the program, which runs the
// same kernel on the same GPU, and no others.
export async function findings(page, { expect, touch, steps, programs, FIGURE, LIVE }, look = () => {}) {
    let compared = 0;
    for (const step of steps) {
        if (!await touch(page, step)) continue;
        const names = await page.eval(`${LIVE}.facts.variants.filter(v => v.step === "${step}" && v.name.startsWith("${step}/") && !v.knob).map(v => v.name)`);
        for (const name of names) {
            await page.eval(`(${LIVE}.variant = "${name}", ${LIVE}.changed())`);
            const { findings, stopped, wrong } = await page.eval(`(({ findings, stopped, wrong }) => ({ findings, stopped, wrong }))(${LIVE}.answer)`);
            expect(findings.length > 0 || stopped || wrong, `${name}: nothing is found`);
            const [n, threads, sms] = await page.eval(`[${LIVE}.n, ${FIGURE}.stepper.threads, ${LIVE}.facts.sms ? ${LIVE}.sms : null]`);
            let said;
            const words = ["--device", "simt", "--n", n, "--threads", threads, ...(sms ? ["--gpu", `sm_90:${sms}`] : []), "--kernel", join(KERNELS, `${name}.cu`)].map(String);
            try { said = execFileSync(join(programs, step), words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } }); } catch (error) { said = error.stdout + error.stderr; }
            if (/no compiler|NVRTC/.test(said) && !/compiled by\s+NVRTC/.test(said)) { console.log(`not compared: ${name}: there is no NVRTC here`); continue; }
            // The committed PTX has a stamp above it, so its line numbers differ.
            const plain = text => text.replace(/\s+/g, " ").replace(/; PTX lines? [\d and]+\)$/, ")");
            const native = printed(said), here = findings.map(f => plain(`${f.sentence} (${f.details})`));
            const same = JSON.stringify(native.all.map(plain)) === JSON.stringify(here.slice(0, native.all.length)) && native.count === here.length;
            // If the kernel is stopped, the program prints only that error.
            const flat = text => text.replace(/\s+/g, " ").replace(/PTX line \d+/g, "");
            const stops = stopped && flat(said).includes(flat(stopped)) && findings.every(f => flat(stopped).includes(flat(f.sentence)));
            expect(stopped ? stops : same, `${name}: the page finds\n${here.join("\n")}\nand says ${stopped}\nthe program\n${native.all.join("\n")}\nof ${native.count}; it says\n${said}`);
            expect(stopped || /, WRONG,/.test(said) === !!wrong, `${name}: the page's sum is ${wrong ?? "right"}, the program says\n${said}`);
            compared += 1;
            await sleep(150);
            const lit = await page.eval(`document.querySelectorAll(".lv-side[data-side=source] .lv-wrong").length`);
            expect(lit > 0, `${name}: no line of the source is lit`);
        }
        if (names.length) await look(step);
    }
    console.log(`${compared} wrong kernels: findings as of the programs, in both directions`);
}
