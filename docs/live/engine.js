// The engine in the page and in workers: bytes in, bytes out, both JSON. No server, no network, no library.
"use strict";

/** An instance of the engine over compiled WebAssembly. Its text is sent to workers as well, so it uses nothing from outside. */
async function towlineEngine(module) {
  const { exports } = await WebAssembly.instantiate(module, {});
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  const read = (length) => decoder.decode(new Uint8Array(exports.memory.buffer, exports.place(), length));
  return {
    /** Asks the engine; throws what it says where it cannot. */
    ask(request) {
      const bytes = encoder.encode(JSON.stringify(request));
      const at = exports.room(bytes.length);
      new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
      let reply;
      try {
        reply = JSON.parse(read(exports.ask()));
      } catch (trap) {
        const said = read(exports.last_words());
        throw new Error(said || String(trap));
      }
      if (reply.error !== undefined) throw new Error(reply.error);
      return reply.ok;
    },
  };
}

/** What a worker does: one instance, one question after another. */
function towlineWorker() {
  let engine;
  self.onmessage = async ({ data }) => {
    try {
      if (data.module) engine = await towlineEngine(data.module);
      self.postMessage({ ok: data.module ? true : engine.ask(data) });
    } catch (error) {
      self.postMessage({ error: error.message });
    }
  };
}

/** The engine, compiled once: read from beside the page, or unpacked from a script where the page was opened as a file. */
const towline = {
  base: new URL(".", document.currentScript.src).href,

  module() {
    this.compiled ??= this.bytes().then((bytes) => WebAssembly.compile(bytes));
    return this.compiled;
  },

  async bytes() {
    if (location.protocol !== "file:") {
      const reply = await fetch(this.base + "towline.wasm");
      if (!reply.ok) throw new Error("The engine is not in this site: it was built without Rust's WebAssembly target.");
      return reply.arrayBuffer();
    }
    await new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = this.base + "packed.js";
      script.onload = resolve;
      script.onerror = () => reject(new Error("A page opened as a file may not read the engine beside it: run `python3 -m http.server` in the site's folder, and open it from there."));
      document.head.append(script);
    });
    const packed = Uint8Array.from(atob(window.packedTowline), (c) => c.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(unpacked).arrayBuffer();
  },

  /** An instance in this page. */
  async here() {
    return towlineEngine(await this.module());
  },

  /** An instance in a worker: `ask` returns a promise, `end` ends it. Questions are put one at a time. */
  async worker() {
    const text = `${towlineEngine}\n(${towlineWorker})();`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    let waiting = Promise.resolve();
    const put = (message) => {
      const reply = waiting.then(() => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => (data.error === undefined ? resolve(data.ok) : reject(new Error(data.error)));
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(message);
      }));
      waiting = reply.catch(() => {});
      return reply;
    };
    await put({ module: await this.module() });
    return { ask: put, end: () => worker.terminate() };
  },

  /**
   * Chains in workers, those of `towline fit` or (without a model) of `towline run neal1`: they warm up together, then draw.
   * `see` is told how far it is; what it returns is never waited for.
   */
  async chains({ model, csv, chains, draws, seed, ratio, see = () => {}, stopped = () => false }) {
    const workers = await Promise.all(Array.from({ length: chains }, () => this.worker()));
    try {
      const begin = (worker, chain) => worker.ask({ do: "chain", model, csv, plan: { chain, chains, seed, ratio } });
      const [names] = await Promise.all(workers.map(begin));
      let heard = null, warm;
      do {
        warm = await Promise.all(workers.map((worker) => worker.ask({ do: "warm", heard })));
        // Each does the same, so that either all of them write or none does.
        heard = warm[0].letter === null ? null : warm.map((one) => one.letter);
        see({ phase: "warm-up", stage: warm[0].stage });
      } while (!warm[0].done && !stopped());
      const columns = names.map(() => workers.map(() => []));
      const spent = [];
      const BLOCK = 25;
      const follow = async (worker, chain) => {
        for (let made = 0; made < draws && !stopped(); made += BLOCK) {
          const reply = await worker.ask({ do: "draw", count: Math.min(BLOCK, draws - made) });
          for (const row of reply.rows) row.forEach((value, k) => columns[k][chain].push(value));
          spent[chain] = { outer: reply.outer, slow: reply.slow_evaluations, fast: reply.fast_evaluations };
          see({ phase: "sampling", names, columns, spent });
        }
      };
      if (!stopped()) await Promise.all(workers.map(follow));
      return { names, columns, spent, chosen: warm[0].chosen };
    } finally {
      workers.forEach((worker) => worker.end());
    }
  },
};
