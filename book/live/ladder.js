// The whole ladder in the page: all steps for one n, one block size and one type, with their counts
// side by side.
"use strict";

window.live ||= {};
(() => {
    const { html } = book;
    const COUNTS = [["warp_insts", "warp instructions"], ["divergent_branches", "divergent branches"], ["shared_ld", "shared loads"],
        ["shared_ld_conflicts", "bank conflicts"], ["barriers", "barriers, per warp"], ["shuffles", "shuffles"],
        ["global_ld_requests", "global loads"], ["global_ld_sectors", "sectors"], ["atomics", "atomics"]];
    const SIZES = [33, 257, 1025, 4096, 16384, 65536, 262144];

    live.ladder = async (figure, button) => {
        await book.script("live/engine.js");
        book.sheet("live/live.css");
        const steps = JSON.parse(figure.querySelector("script").textContent);
        const sent = new URLSearchParams(location.hash.slice(1));
        const bar = html("div", "lv-controls");
        const select = (text, options, value, said = String) => {
            const node = html("select", "", html("label", "", bar, text + " "));
            for (const option of options) {
                const made = html("option", "", node, said(option));
                made.value = option;
                made.selected = String(option) === String(value);
            }
            node.addEventListener("change", show);
            return node;
        };
        const n = select("n", SIZES, sent.get("n") ?? 65536, n => n.toLocaleString("en"));
        const threads = select("threads", [64, 128, 256, 512, 1024], sent.get("threads") ?? 256);
        const type = select("type", ["f32", "i32", "f64"], sent.get("type") ?? "f32");
        const box = html("div", "table-wrapper lv-counts");
        Object.assign(box, { tabIndex: 0 });
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", "Counts of all steps");
        const said = html("p", "lv-said");
        said.setAttribute("role", "status");
        button.replaceWith(bar, box, said);
        let turn = 0;

        async function show() {
            const mine = ++turn;
            history.replaceState(history.state, "", `#live=ladder&n=${n.value}&threads=${threads.value}&type=${type.value}`);
            const table = html("table", "figures");
            const head = html("tr", "", html("thead", "", table));
            for (const text of ["step", "threads per block", ...COUNTS.map(c => c[1])]) html("th", "", head, text).scope = "col";
            const body = html("tbody", "", table);
            let right = 0;
            for (const { name, blocks } of steps) {
                const block = blocks.includes(Number(threads.value)) ? Number(threads.value) : blocks.includes(256) ? 256 : blocks[0];
                const kernel = await live.bring(name, type.value);
                const answer = await live.ask({ step: name, ptx: kernel.ptx, source: kernel.source, n: Number(n.value), type: type.value, threads: block });
                if (mine !== turn || !answer) return;
                const row = html("tr", "", body);
                html("a", "", html("th", "", row), name).href = `${name}.html`;
                html("td", "", row, answer.threads);
                for (const [key] of COUNTS) html("td", "", row, answer.stopped ? "–" : (answer.total[key] ?? 0).toLocaleString("en"));
                right += answer.verified;
                if (body.rows.length === 1) box.replaceChildren(table);
            }
            said.textContent = `${right} of ${steps.length} sums are correct. A step that supports only one block size uses that size.`;
            figure.dataset.live = JSON.stringify({ right });
        }
        await show();
    };
})();
