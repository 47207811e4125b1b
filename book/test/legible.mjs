// Finds elements that are hard to read or to tap: text that is too small or has too little
// contrast, tables that are cut off without an indication, and controls that are too small for a
// finger. The expression is evaluated in the page and returns a list of sentences.
export const LEGIBLE = `(() => {
    const faults = [];
    const channel = c => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    // Blends a CSS colour with the one behind it.
    const over = (colour, behind) => {
        canvas.fillStyle = "rgb(" + behind.join(",") + ")";
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const behind = node => {
        const colours = [];
        for (let up = node; up; up = up.parentElement) colours.unshift(getComputedStyle(up).backgroundColor);
        return colours.reduce((under, colour) => over(colour, under), [255, 255, 255]);
    };
    const shown = node => node.getClientRects().length > 0 && node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const seen = new Set();
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        const words = walk.currentNode.textContent.trim();
        if (!words || seen.has(node) || !shown(node) || node.closest("script, style, option, math, .skip")) continue;
        seen.add(node);
        const style = getComputedStyle(node);
        const svg = node.closest("svg");
        // In a drawing, text is on top of what was drawn before it: the page, or a box of its own.
        let size = parseFloat(style.fontSize);
        if (svg && svg.viewBox.baseVal?.width) size *= svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        if (size < 10.9) faults.push(size.toFixed(1) + " px: " + words.slice(0, 30));
        if (svg && node.closest(".drawing, .stepper, .ring")) continue;
        const ground = behind(svg ?? node);
        const ink = over(svg ? style.fill : style.color, ground);
        const needed = size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5;
        const reached = contrast(ink, ground);
        if (reached < needed - 0.02) faults.push("contrast " + reached.toFixed(2) + ": " + words.slice(0, 30));
    }
    for (const box of document.querySelectorAll("main .table-wrapper")) {
        if (box.scrollWidth > box.clientWidth + 1 && !getComputedStyle(box).backgroundImage.includes("gradient"))
            faults.push("a table is cut without a sign: " + box.textContent.trim().slice(0, 30));
    }
    for (const tap of document.querySelectorAll("main button, main select, main summary, main input")) {
        const box = tap.getBoundingClientRect();
        if (shown(tap) && box.height > 0 && Math.min(box.width, box.height) < 23.5)
            faults.push("small for a finger, " + Math.round(box.width) + " × " + Math.round(box.height) + ": " + (tap.textContent.trim() || tap.type).slice(0, 30));
    }
    return [...new Set(faults)].slice(0, 12);
})()`;
