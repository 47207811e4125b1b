// The timeline of a multiprocessor: without this script, a page shows a still picture and a table. At the
// first click on its button, live/time.js loads the films.
"use strict";

for (const figure of document.querySelectorAll("figure.timeline")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    if (!data.live) continue;
    const bar = book.html("p", "tl-open");
    const button = book.html("button", "", bar, "Play and change it\u00a0…");
    button.type = "button";
    button.setAttribute("aria-label", "Play and change it. The first change loads the model into this page");
    figure.prepend(bar);
    button.addEventListener("click", () => {
        button.disabled = true;
        button.textContent = "Loading …";
        return book.script("live/time.js").then(() => window.live.time(figure, data)).then(() => bar.remove()).catch(error => {
            button.disabled = false;
            button.textContent = `${error.message}: once more`;
        });
    });
}
