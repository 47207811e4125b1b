// The locations that a traced access touches, and their description in words: shared words, their
// distance, banks. Nothing is drawn here.
"use strict";

window.book ||= {};
(() => {
    const LANES = 32;
    const NAMES = {
        ld: "shared load", st: "shared store", at: "shared atomic", gld: "global load",
        gst: "global store", gat: "global atomic", shfl: "shuffle",
    };

    const on = (mask, lane) => (mask >>> lane) & 1;
    const count = mask => { let n = 0; for (let l = 0; l < LANES; l++) n += on(mask, l); return n; };
    const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;
    const shared = op => op.what === "ld" || op.what === "st" || op.what === "at";
    const bankOf = word => ((word % LANES) + LANES) % LANES;

    // For each lane, the first shared word or the input element that the lane touches; undefined for
    // idle lanes. `by` is the distance from the first warp of the group.
    function touched(op, by) {
        const list = [];
        if (!shared(op) && !op.input) return list;
        let nth = 0;
        for (let lane = 0; lane < LANES; lane++) {
            if (!on(op.mask, lane)) continue;
            const own = op.words && op.words.length ? op.words[nth++] : op.base + op.stride * lane;
            list[lane] = own + op.step * by;
        }
        return list;
    }

    // Abbreviates numbers with equal distances: `0, 2, 4 … 62`.
    const short = (list, head) => list.length > head + 1 ? `${list.slice(0, head).join(", ")} … ${list.at(-1)}` : list.join(", ");

    // Formats a list of numbers, and returns the distance between neighbours. If the distance
    // changes a few times, the text lists runs; if it changes often, the text lists at most `most`
    // single numbers.
    function series(numbers, most = LANES) {
        const list = [...new Set(numbers)];
        if (list.length < 2) return { text: list.join(), apart: 0 };
        const apart = list[1] - list[0];
        const runs = [[list[0]]];
        for (let i = 1; i < list.length; i++) list[i] - list[i - 1] === apart ? runs.at(-1).push(list[i]) : runs.push([list[i]]);
        if (runs.length === 1) return { text: short(list, 3), apart };
        if (2 * runs.length > list.length || runs.length > 8) return { text: short(list, most), apart: 0 };
        return { text: runs.map(run => short(run, 2)).join("; "), apart };
    }

    const named = (list, one) => `${one}${list.length > 1 ? "s" : ""} ${series(list).text}`;

    // Describes the words of a shared access, with their distance: `words 0, 2, 4 … 62 (2 apart)`.
    function words(op, by, most) {
        const list = [...new Set(touched(op, by).filter(word => word !== undefined))];
        const { text, apart } = series(list, most);
        const notes = [apart ? `${apart} apart` : "", op.wide > 1 ? `${op.wide} to a lane` : ""].filter(Boolean);
        return `${list.length > 1 ? "words" : "word"} ${text}${notes.length ? ` (${notes.join(", ")})` : ""}`;
    }

    // Describes the part of the input that a warp loads: its first and last element.
    function elements(op, by) {
        const all = touched(op, by).filter(element => element !== undefined);
        return `elements ${Math.min(...all)} to ${Math.max(...all) + (op.wide || 1) - 1}`;
    }

    // Labels an access for its button: `shared load: words 0, 2, 4 … 62 (2 apart), 2 passes`.
    function access(op, by) {
        const name = NAMES[op.what] || op.what, all = count(op.mask);
        if (shared(op)) return `${name}${all < LANES ? `, ${plural(all, "lane")}` : ""}: ${words(op, by, 8)}, ${plural(op.cost, "pass", "passes")}`;
        const what = [name, plural(all, "lane")];
        if (op.what === "gld" || op.what === "gst") what.push(plural(op.cost, "sector"));
        if (op.input) what.push(elements(op, by));
        if (op.what === "shfl" && op.cost) what.push(`from ${op.cost} further on`);
        return what.join(", ");
    }

    // For each bank, the words that an access requests from it, each with its lanes.
    function banks(op, by) {
        const all = Array.from({ length: LANES }, () => new Map());
        if (!shared(op)) return all;
        touched(op, by).forEach((first, lane) => {
            for (let word = first; word < first + (op.wide || 1); word++) {
                const bank = all[bankOf(word)];
                bank.set(word, [...(bank.get(word) ?? []), lane]);
            }
        });
        return all;
    }

    // Describes a bank: `bank 0: words 0, 32 (lanes 0, 16), a pass each`.
    function ofBank(ops, by, bank) {
        const parts = ops.map(op => [op, banks(op, by)[bank]]).filter(([, asked]) => asked.size).map(([op, asked]) =>
            `${ops.length > 1 ? NAMES[op.what] + " of " : ""}${named([...asked.keys()], "word")} (${named([...asked.values()].flat(), "lane")})`
            + (op.conflicts && asked.size > 1 && (op.wide || 1) === 1 ? ", a pass each" : ""));
        return `bank ${bank}: ${parts.join("; ") || "not accessed"}`;
    }

    // Describes a lane: `lane 3: word 6, in bank 6`.
    function ofLane(ops, by, lane) {
        const parts = ops.filter(op => on(op.mask, lane)).map(op => {
            const name = ops.length > 1 ? NAMES[op.what] + " of " : "", first = touched(op, by)[lane];
            const all = Array.from({ length: op.wide || 1 }, (_, next) => first + next);
            if (shared(op)) return `${name}${named(all, "word")}, in ${named(all.map(bankOf), "bank")}`;
            if (op.input) return name + named(all, "element");
            if (op.what === "shfl" && op.cost) return lane + op.cost < LANES ? `takes from lane ${lane + op.cost}` : "takes its own";
            return NAMES[op.what] || op.what;
        });
        return `lane ${lane}: ${parts.join("; ") || "idle"}`;
    }

    book.access = { LANES, on, count, shared, bankOf, touched, words, access, banks, ofBank, ofLane };
    book.plural = plural;
})();
