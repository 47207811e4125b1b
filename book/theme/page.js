// What every page has: a link over the thirty entries of the sidebar, for those who go by keys.
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
        // The address stays as it is: a figure may keep its state there.
        event.preventDefault();
        main.focus();
    });
    document.body.prepend(skip);
})();
