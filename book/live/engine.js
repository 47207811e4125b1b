// The interpreter in this page takes a question as an object and returns a promise of the answer.
// The model of a GPU's time and the judge of the exercises are separate modules.
//
// Each runs in a Worker, which is terminated when a question takes too long. A page opened from a
// disk can load only scripts, so the WebAssembly arrives as text, and the Worker is created from a
// function of this file.
"use strict";

window.live ||= {};
(() => {
    // The Worker's program.
    function worker() {
        let ready, exports;
        const start = bytes => WebAssembly.instantiate(bytes, {}).then(made => { exports = made.instance.exports; });
        const ask = question => {
            const text = new TextEncoder().encode(JSON.stringify(question));
            // Memory may be reallocated when it grows, so its buffer is read only after `room`.
            const at = exports.room(text.length);
            new Uint8Array(exports.memory.buffer, at, text.length).set(text);
            const length = exports.reply();
            return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answer(), length)));
        };
        onmessage = ({ data }) => {
            if (data.wasm) { ready = start(data.wasm); return; }
            ready.then(() => {
                postMessage({ begun: true });
                const began = performance.now();
                const answer = ask(data.question);
                postMessage({ answer: { ...answer, ms: performance.now() - began } });
            }).catch(error => postMessage({ fault: String(error) }));
        };
    }

    // Creates the function that sends questions to a module. The arguments are the module's script,
    // the name of the callback that the script calls, the time limit for a question in
    // milliseconds, and the answer to return, with the reason added, when the module is stopped.
    function engine(file, handed, limit, none) {
        let module, running, waiting, thread;

        // The module's bytes, unpacked once.
        function bytes() {
            return module ||= new Promise((done, failed) => {
                live[handed] = async text => {
                    try {
                        const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
                        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
                        done(await new Response(stream).arrayBuffer());
                    } catch (error) {
                        failed(new Error(`this browser cannot run the interpreter (${error.message})`));
                    }
                };
                book.script(file).catch(error => { module = undefined; failed(error); });
            });
        }

        async function start() {
            const wasm = await bytes();
            const url = URL.createObjectURL(new Blob([`(${worker})()`], { type: "text/javascript" }));
            thread = new Worker(url);
            URL.revokeObjectURL(url);
            thread.onmessage = ({ data }) => {
                if (data.begun) running.timer = setTimeout(() => stop(
                    `the interpreter was ended after ${limit / 1000} s: choose fewer elements, or look for an endless loop`), limit);
                else if (data.fault) stop(`the interpreter itself failed (${data.fault}); this is a bug in the interpreter, not in the kernel`);
                else end(data.answer);
            };
            thread.onerror = event => stop(`the interpreter cannot start in this browser (${event.message})`);
            thread.postMessage({ wasm });
        }

        // Terminates the Worker; the next question starts a new one.
        function stop(why) {
            thread.terminate();
            thread = undefined;
            end({ ...none(running.question), stopped: why });
        }

        function end(answer) {
            const { done, timer } = running;
            clearTimeout(timer);
            running = undefined;
            done(answer);
            if (waiting) [waiting, running] = [undefined, waiting], run();
        }

        function run() {
            (thread ? Promise.resolve() : start())
                .then(() => thread.postMessage({ question: running.question }))
                .catch(error => { const { failed } = running; running = undefined; failed(error); });
        }

        // One question runs at a time. Of the questions that arrive meanwhile, only the last is
        // kept; the others are answered with null, because a moving slider needs only its latest
        // position.
        return question => new Promise((done, failed) => {
            const asked = { question, done, failed };
            if (running) {
                waiting?.done(null);
                waiting = asked;
            } else {
                running = asked;
                run();
            }
        });
    }

    live.ask = engine("live/interpreter.js", "interpreter", 2000,
        question => ({ launches: [], findings: [], total: {}, lines: {}, ptx: {}, frames: [], verified: false, threads: question.threads }));
    live.model = engine("live/time.wasm.js", "times", 5000, () => ({}));
    live.judge = engine("live/judge.wasm.js", "judges", 30000, () => ({ passed: false, page: "", lines: [] }));

    // Kernels, as defined by `live/NAME.TYPE.js`: each of these scripts calls `live.kernel`.
    const kernels = {};
    live.kernel = (name, type, kernel) => { kernels[`${name.replace("/", "--")}.${type}`] = kernel; };
    live.bring = async (name, type) => {
        const key = `${name.replace("/", "--")}.${type}`;
        if (!kernels[key]) await book.script(`live/${key}.js`);
        return kernels[key];
    };

    // The films of the unchanged kernels and GPU, as defined by `live/NAME.film.js`.
    const films = {};
    live.filmed = (name, film) => { films[name] = film; };
    live.film = async name => {
        if (!films[name]) await book.script(`live/${name}.film.js`);
        return films[name];
    };
})();
