// An exercise in the page: the judge of `cargo x check`, on the kernel of the figure above; where the book is
// served, on a kernel that is written here.
"use strict";

window.live ||= {};
(() => {
    const { html } = book;
    const TYPES = ["f32", "i32", "f64"];

    // The texts that exercises begin with, as `live/task-N.js` has them.
    const tasks = {};
    live.task = (number, source) => { tasks[number] = source; };

    live.exercise = class {
        constructor(box) {
            this.box = box;
            this.number = Number(box.dataset.task);
            this.said = html("pre", "lv-verdict", box);
            this.said.setAttribute("role", "status");
            this.said.tabIndex = 0;
        }

        // The judge is the same; its numbers are others each time.
        async judge(source, ptx) {
            this.say("Judging …");
            const began = performance.now();
            const answer = await live.judge({ task: this.number, source, ptx, seed: Math.floor(Math.random() * 1e6) });
            // Whoever asked again meanwhile has the answer.
            if (!answer) return null;
            this.say(answer.stopped ?? `${answer.page}${answer.passed ? "passed" : "not yet"}`, answer.passed);
            this.box.dataset.judged = JSON.stringify({ passed: answer.passed, ms: performance.now() - began });
            return answer;
        }

        say(text, good) {
            this.said.textContent = text;
            this.said.className = `lv-verdict ${good ? "lv-good" : ""}`;
        }

        // What the figure shows. PTX that was edited by hand is there for one type.
        async figure(stepper) {
            if (!stepper.live) await stepper.wake();
            const figure = stepper.live;
            if (!figure) return;
            const { edited, shown, type } = figure;
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

        // A kernel of one's own, from the text that the exercise begins with.
        async write() {
            if (this.editor) return this.editor.area.focus();
            await Promise.all([book.script("live/edit.js"), book.script(`live/task-${this.number}.js`)]);
            const kept = `exercise ${this.number}`;
            this.editor = new live.Editor(sessionStorage.getItem(kept) ?? tasks[this.number], `Your kernel of exercise ${this.number}, in CUDA`,
                () => sessionStorage.setItem(kept, this.editor.area.value));
            const button = html("button", "", null, "Judge it");
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

    // What a first touch brings, and what it was for.
    live.exercises = async (box, stepper) => {
        // For its editor.
        book.sheet("live/live.css");
        live.served ??= document.querySelector("meta[name=compile]")?.content;
        await book.script("live/engine.js");
        const exercise = box.exercise ||= new live.exercise(box);
        await (stepper ? exercise.figure(stepper) : exercise.write()).catch(error => exercise.say(error.message));
    };
})();
