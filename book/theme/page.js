// On every page: a link that skips the thirty entries of the sidebar, for readers who use the
// keyboard; and the light theme on paper.
"use strict";

(() => {
    const main = document.querySelector("main");
    if (!main) return;
    main.id ||= "main";
    main.tabIndex = -1;
    const skip = document.createElement("a");
    skip.className = "skip";
    skip.href = `#${main.id}`;
    skip.textContent = "Skip to the text";
    skip.addEventListener("click", event => {
        // Leave the address unchanged: a figure may keep its state there.
        event.preventDefault();
        main.focus();
    });
    document.body.prepend(skip);
    // The sidebar scrolls to this page's entry, and Tab would continue from there.
    if (location.hash) return;
    document.body.tabIndex = -1;
    document.body.focus({ preventScroll: true });
    document.body.blur();
    document.body.removeAttribute("tabindex");
})();

(() => {
    // The colours of a dark theme are too light for paper.
    const root = document.documentElement.classList;
    let dark;
    addEventListener("beforeprint", () => {
        dark = ["navy", "coal", "ayu"].find(theme => root.contains(theme));
        if (dark) root.replace(dark, "light");
    });
    addEventListener("afterprint", () => {
        if (dark) root.replace("light", dark);
    });
})();
