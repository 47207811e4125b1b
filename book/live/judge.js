// An exercise in the page: runs the judge of `cargo x check` on the kernel of the figure above, or, where the
// book is served, on a kernel written here.
"use strict";

window.live ||= {};
(() => {
    const { html } = book;
    const TYPES = ["f32", "i32", "f64"];

    // The initial texts and the hints of the exercises, as defined by `live/task-N.js`.
    const tasks = {};
    live.task = (number, source, hints) => { tasks[number] = { source, hints }; };

    live.exercise = class {
        constructor(box) {
            this.box = box;
            this.number = Number(box.dataset.task);
            this.said = html("pre", "lv-verdict", box);
            this.said.setAttribute("role", "status");
            this.said.tabIndex = 0;
        }

        // The judge is the same as on the command line; each run draws a new input.
        async judge(source, ptx) {
            this.say("Judging …");
            const began = performance.now();
            const answer = await live.judge({ task: this.number, source, ptx, seed: Math.floor(Math.random() * 1e6) });
            // A later request replaced this one, and gets the answer.
            if (!answer) return null;
            this.say(answer.stopped ?? `${answer.page}${answer.passed ? "passed" : "not yet"}`, answer.passed);
            this.box.dataset.judged = JSON.stringify({ passed: answer.passed, ms: performance.now() - began });
            return answer;
        }

        say(text, good) {
            this.said.textContent = text;
            this.said.className = `lv-verdict ${good ? "lv-good" : ""}`;
        }

        // Judges the figure's kernel. PTX that was edited by hand exists for one type only.
        async figure(stepper) {
            if (!stepper.live) await stepper.wake();
            const figure = stepper.live;
            if (!figure) return;
            const { edited, shown, type } = figure;
            // The chapter shows this solution, so judging it would teach nothing.
            if (!edited && figure.kernel.name === figure.step) {
                return this.say("The figure shows this chapter's own kernel. Edit that kernel, or choose another in the figure, and press the button again.");
            }
            let ptx = TYPES.map(t => t === type ? shown.ptx : null);
            if (!edited) ptx = await Promise.all(TYPES.map(async t => figure.given(await live.bring(figure.kernel.name, t)).ptx));
            else if (edited.compiled) {
                const made = await live.compile(figure.kernel.name, TYPES, shown.source);
                if (made.error) return this.say(made.error);
                ptx = TYPES.map(t => made.ptx[t]);
            }
            const answer = await this.judge(shown.source, ptx);
            if (answer?.lines.length) figure.lines.point(answer.lines, []);
        }

        // Shows the next hint, above the verdict.
        async hint(button) {
            await book.script(`live/task-${this.number}.js`);
            const { hints } = tasks[this.number];
            const at = this.hinted ?? 0;
            if (at >= hints.length) return;
            const text = html("p", "lv-hint");
            // Every second part is between backticks.
            hints[at].split("`").forEach((part, i) => text.append(i % 2 ? html("code", "", null, part) : part.replaceAll("\n", " ")));
            this.said.before(text);
            this.hinted = at + 1;
            button.textContent = this.hinted < hints.length ? "Next hint" : "No more hints";
            button.disabled = this.hinted === hints.length;
        }

        // Opens an editor for the reader's own kernel, with the initial text of the exercise.
        async write() {
            if (this.editor) return this.editor.area.focus();
            await Promise.all([book.script("live/edit.js"), book.script(`live/task-${this.number}.js`)]);
            const kept = `exercise ${this.number}`;
            this.editor = new live.Editor(sessionStorage.getItem(kept) ?? tasks[this.number].source, `Your kernel for exercise ${this.number}, in CUDA`,
                () => sessionStorage.setItem(kept, this.editor.area.value));
            const button = html("button", "", null, "Judge this kernel");
            button.type = "button";
            this.said.before(this.editor.box, button);
            const judge = async () => {
                const source = this.editor.area.value;
                this.say("Compiling …");
                const made = await live.compile("", TYPES, source);
                if (made.error) {
                    this.editor.number(new Set([made.line]));
                    return this.say(made.error);
                }
                const answer = await this.judge(source, TYPES.map(t => made.ptx[t]));
                if (answer) this.editor.number(new Set(answer.lines));
            };
            button.addEventListener("click", () => judge().catch(error => this.say(error.message)));
            this.editor.show(1);
        }
    };

    // Loads the judge at the first click, then does what the clicked button asks for.
    live.exercises = async (box, stepper, hint) => {
        // The editor needs this style sheet.
        book.sheet("live/live.css");
        const exercise = box.exercise ||= new live.exercise(box);
        if (hint) return exercise.hint(hint);
        live.served ??= document.querySelector("meta[name=compile]")?.content;
        await book.script("live/engine.js");
        await (stepper ? exercise.figure(stepper) : exercise.write()).catch(error => exercise.say(error.message));
    };
})();
