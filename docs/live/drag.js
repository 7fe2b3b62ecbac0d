// The report's first example step by step: one chain of the engine, and what the page paints of it.
"use strict";

(async () => {
  const $ = (id) => document.getElementById(id);
  const say = (text, wrong) => { $("said").textContent = text; $("said").classList.toggle("wrong", Boolean(wrong)); };
  /** What is shown of the plane. */
  const X = [-2.3, 2.3], Y = [-1.5, 1.5];
  const TRACE = 300, CLOUD = 2000, LAGS = 60;
  /** Autocorrelations of the ideal, marginal Metropolis with steps of 1 (an independent C program, 10⁸ steps). */
  const IDEAL = [[1, 0.6603], [5, 0.1343], [10, 0.0203], [20, 0.0007], [30, 0]];

  let engine;
  try {
    engine = await towline.here();
  } catch (error) {
    return say(error.message, true);
  }

  // Sliders are exponential: what they stand for, from their place.
  const scale = (low, high, round) => (place) => round(low * (high / low) ** (place / 100));
  const two = (v) => Number(v.toPrecision(2));
  const sliders = { n: scale(1, 500, Math.round), slow: scale(0.2, 5, two), fast: scale(0.02, 2, two), speed: scale(0.2, 60, two) };
  const framedFast = scale(0.24, 24, two);
  const frame = () => document.querySelector("input[name=frame]:checked").value;
  const setting = (id) => (id === "fast" && frame() !== "identity" ? framedFast : sliders[id])(Number($(id).value));

  const state = { draws: [], cloud: [], seen: null, chosen: null, playing: true, auto: false, from: null, begun: 0, curves: null };

  function begin() {
    const settings = { n: setting("n"), slow: setting("slow"), fast: setting("fast"), frame: state.auto ? "auto" : frame(), seed: Number($("seed").value) || 0 };
    try {
      const begun = engine.ask({ do: "drag", ...settings });
      Object.assign(state, { draws: [], cloud: [], seen: null, chosen: begun.chosen, from: [begun.x, begun.y], curves: null });
      const chosen = begun.chosen;
      say(chosen
        ? `Warm-up chose n = ${chosen.n} in the ${chosen.frame} frame, with ${Math.round(100 * chosen.shares[0])} % of proposals from what it learned of the marginal of x; `
          + `it took ${chosen.slow_evaluations} slow evaluations.`
        : "");
    } catch (error) {
      say(error.message, true);
    }
    next();
  }

  /** One step, which is then shown. */
  function next() {
    take(1);
    state.begun = performance.now();
  }

  function take(count) {
    const from = state.draws.length ? state.draws[state.draws.length - 1] : state.from;
    const steps = engine.ask({ do: "step", count });
    if (count > 1) state.from = steps.draws[count - 2];
    else state.from = from;
    state.draws.push(...steps.draws);
    state.draws.splice(0, Math.max(0, state.draws.length - TRACE));
    state.cloud.push(...steps.draws);
    state.cloud.splice(0, Math.max(0, state.cloud.length - CLOUD));
    state.seen = steps.seen;
    state.curves = state.seen && curves(state.seen);
    figures();
  }

  /** The two ends of the drag as log densities over z, from which every intermediate distribution follows. */
  function curves(seen) {
    // y = m + L z at both ends: from the centre and a point of the path.
    const [m, end, z] = [seen.centres.map((c) => c[0]), seen.ends[0].map((e) => e[0]), seen.path[0][0]];
    const L = end.map((e, k) => (Math.abs(z) > 1e-12 ? (e - m[k]) / z : 1));
    const identity = Math.abs(m[0]) + Math.abs(m[1]) < 1e-12 && Math.abs(L[0] - 1) + Math.abs(L[1] - 1) < 1e-9;
    const span = identity ? [Y[0] - 0.2, Y[1] + 0.2] : [-4.5, 4.5];
    const zs = Array.from({ length: 181 }, (_, k) => span[0] + ((span[1] - span[0]) * k) / 180);
    const at = [seen.x[0], seen.proposed[0]].map((x, k) => engine.ask({ do: "density", x, y: zs.map((v) => m[k] + L[k] * v) }));
    return { zs, at, y: [0, 1].map((k) => zs.map((v) => m[k] + L[k] * v)) };
  }

  function figures() {
    const f = engine.ask({ do: "figures", lags: LAGS });
    state.acf = f.autocorrelation;
    const percent = (v) => (v === null ? "–" : `${(100 * v).toFixed(0)} %`);
    $("f-draws").textContent = f.draws.toLocaleString("en");
    $("f-outer").textContent = percent(f.outer);
    $("f-inner").textContent = percent(f.inner);
    $("f-fast").textContent = figure(f.fast_evaluations / f.slow_evaluations);
    const perDraw = f.time === null ? null : (f.time * f.slow_evaluations) / (f.draws + 1);
    $("f-time").textContent = perDraw === null ? "–" : f.reliable ? `${figure(perDraw, 2)} ± ${figure((f.time_error * perDraw) / f.time, 1)}` : `about ${figure(perDraw, 2)}`;
    $("f-variance").textContent = figure(f.variance, 3);
    paintAcf();
    paint.traces($("trace"), [state.draws.map((d) => d[0])], X);
  }

  /** The density as a picture, painted once for each size and scheme. */
  let heat = null;
  function density(width, height, ink) {
    const key = [width, height, ink].join();
    if (heat && heat.key === key) return heat.canvas;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [160, 110];
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const ys = Array.from({ length: canvas.height }, (_, r) => Y[1] - ((Y[1] - Y[0]) * (r + 0.5)) / canvas.height);
    const [red, green, blue] = ink.match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16));
    for (let c = 0; c < canvas.width; c += 1) {
      const x = X[0] + ((X[1] - X[0]) * (c + 0.5)) / canvas.width;
      engine.ask({ do: "density", x, y: ys }).forEach((value, r) => {
        image.data.set([red, green, blue, 150 * Math.exp(value / 2)], 4 * (r * canvas.width + c));
      });
    }
    context.putImageData(image, 0, 0);
    heat = { key, canvas };
    return canvas;
  }

  /** The plane at a share of the step that is shown: 0 to 0.15 the proposal, to 0.85 the drag, then whether it was accepted. */
  function paintPlane(share) {
    const { context, width, height } = paint.fresh($("plane"));
    const all = paint.colours($("plane"));
    const at = (x, y) => [((x - X[0]) / (X[1] - X[0])) * width, ((Y[1] - y) / (Y[1] - Y[0])) * height];
    context.imageSmoothingEnabled = true;
    context.drawImage(density(width, height, all.ink), 0, 0, width, height);
    context.globalAlpha = 0.45;
    state.cloud.forEach(([x, y]) => { const [a, b] = at(x, y); context.fillStyle = all.chains[2]; context.fillRect(a - 1, b - 1, 2, 2); });
    context.globalAlpha = 1;
    const seen = state.seen;
    if (!seen) {
      const [x, y] = at(...state.from);
      return paint.dot(context, x, y, 5, all.slow);
    }
    const [x, star] = [seen.x[0], seen.proposed[0]];
    const n = seen.path.length;
    const drag = Math.min(1, Math.max(0, (share - 0.15) / 0.7));
    const place = drag * n;
    const i = Math.min(n - 1, Math.floor(place));
    // At i of n the dragged point belongs to ρᵢ, between x and x*; it is painted there.
    const point = (k) => { const l = k / n; const [a, b] = seen.ends[k].map((e) => e[0]); return at(x + (star - x) * l, a + (b - a) * l); };
    const vertical = (at_x, colour, dashed) => {
      context.setLineDash(dashed ? [4, 4] : []);
      paint.line(context, [at(at_x, Y[0]), at(at_x, Y[1])], colour, 1.2);
      context.setLineDash([]);
    };
    vertical(x, all.slow, false);
    vertical(star, all.slow, true);
    if (drag > 0 && drag < 1) violin(context, at, i / n, x + (star - x) * (i / n), all);
    const way = Array.from({ length: i + 1 }, (_, k) => point(k));
    if (share > 0.15) paint.line(context, way, all.fast, n > 150 ? 0.8 : 1.5);
    if (n <= 60 && share > 0.15) way.forEach(([a, b]) => paint.dot(context, a, b, 1.8, all.fast));
    const [ax, ay] = at(x, seen.ends[0][0][0]);
    paint.dot(context, ax, ay, 5, all.slow);
    if (share <= 0.15) {
      // The proposal: an arrow to the new x, y held still.
      const [bx] = at(x + (star - x) * (share / 0.15), 0);
      paint.line(context, [[ax, ay], [bx, ay]], all.slow, 2);
    } else if (drag < 1) {
      const [px, py] = point(i);
      paint.dot(context, px, py, 5, all.fast);
    } else {
      const last = at(star, seen.ends[n - 1][1][0]);
      paint.dot(context, ...last, 6, seen.accepted ? all.yes : all.no);
      context.fillStyle = seen.accepted ? all.yes : all.no;
      context.font = "600 13px system-ui, sans-serif";
      const chance = seen.log_ratio === null ? 0 : Math.min(1, Math.exp(seen.log_ratio));
      const words = `${seen.accepted ? "accepted" : "rejected"} (probability ${figure(chance, 2)})`;
      const left = Math.min(width - context.measureText(words).width - 6, Math.max(6, last[0] + 10));
      context.fillText(words, left, Math.min(height - 8, Math.max(16, last[1] - 10)));
    }
    context.fillStyle = all.ink;
    context.font = "12px system-ui, sans-serif";
    if (drag > 0 && drag < 1 && n > 1) context.fillText(`i = ${i} of n = ${n}`, 8, height - 8);
    context.fillText("x →", width - 26, height - 8);
    context.fillText("y ↑", 8, 16);
  }

  /** The intermediate distribution ρᵢ, as a shape beside the place that it belongs to. */
  function violin(context, at, share, x, all) {
    const { at: ends, y } = state.curves;
    const logs = ends[0].map((a, k) => (1 - share) * a + share * ends[1][k]);
    const most = Math.max(...logs);
    const shape = logs.map((l, k) => [0.22 * Math.exp(l - most), (1 - share) * y[0][k] + share * y[1][k]]);
    context.fillStyle = all.fast;
    context.globalAlpha = 0.25;
    context.beginPath();
    shape.forEach(([w, v], k) => { const p = at(x + w, v); if (k) context.lineTo(...p); else context.moveTo(...p); });
    shape.reverse().forEach(([w, v]) => context.lineTo(...at(x - w, v)));
    context.fill();
    context.globalAlpha = 1;
  }

  function paintAcf() {
    const { context, width, height } = paint.fresh($("acf"));
    const all = paint.colours($("acf"));
    const at = (lag, value) => [6 + (lag / LAGS) * (width - 12), height - 14 - Math.max(-0.15, value) * (height - 24)];
    paint.line(context, [at(0, 0), at(LAGS, 0)], all.faint, 1);
    (state.acf || []).forEach((value, lag) => { if (value !== null) paint.line(context, [at(lag, 0), at(lag, value)], all.chains[0], 2); });
    IDEAL.forEach(([lag, value]) => paint.dot(context, ...at(lag, value), 3, all.slow));
    context.fillStyle = all.faint;
    context.font = "10px system-ui, sans-serif";
    context.fillText("0", 4, height - 2);
    context.fillText(`lag ${LAGS}`, width - 36, height - 2);
  }

  /** What painting a frame takes in milliseconds, at best: the test sees that sixty of them fit into a second. */
  const frames = { painted: 0, best: Infinity };
  window.towlineFrames = frames;
  function animate(now) {
    const begun = performance.now();
    const speed = setting("speed");
    const share = ((now - state.begun) / 1000) * speed;
    if (state.playing && share >= 1) {
      // Faster than the screen: several steps at once, of which the last is shown.
      take(Math.max(1, Math.min(50, Math.floor(share))));
      state.begun = now;
    }
    if (state.playing) state.share = Math.min(1, share);
    paintPlane(speed > 12 ? 1 : state.share);
    frames.painted += 1;
    // The first frame computes the density's picture.
    if (frames.painted > 1) frames.best = Math.min(frames.best, performance.now() - begun);
    requestAnimationFrame(animate);
  }

  function play(on) {
    state.playing = on;
    if (on) state.begun = performance.now() - (1000 * (state.share >= 1 ? 0 : state.share)) / setting("speed");
    $("play").firstChild.textContent = on ? "Pause" : "Play";
  }

  const actions = {
    play: () => play(!state.playing),
    one: () => { play(false); take(1); state.share = 1; },
    many: () => { take(1000); state.share = 1; state.begun = performance.now() - 1000 / setting("speed"); },
    again: () => begin(),
    auto: () => { state.auto = true; begin(); },
    methods: () => sixMethods(),
  };
  const keys = { p: "play", s: "one", d: "many", b: "again", w: "auto", m: "methods" };
  for (const id of Object.keys(actions)) $(id).addEventListener("click", actions[id]);
  addEventListener("keydown", (event) => {
    const busy = event.target.closest("input[type=text], input[type=number], textarea, select, [contenteditable]");
    if (busy || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key.toLowerCase()]) return;
    // The site has shortcuts of its own.
    event.preventDefault();
    event.stopImmediatePropagation();
    actions[keys[event.key.toLowerCase()]]();
  }, true);

  function show() {
    for (const id of ["n", "slow", "fast", "speed"]) {
      $(`${id}-value`).textContent = setting(id);
      $(id).setAttribute("aria-valuetext", setting(id));
    }
  }
  for (const id of ["n", "slow", "fast"]) {
    $(id).addEventListener("input", show);
    $(id).addEventListener("change", () => { state.auto = false; begin(); });
  }
  $("speed").addEventListener("input", () => { show(); state.begun = performance.now(); });
  $("seed").addEventListener("change", begin);
  document.querySelectorAll("input[name=frame]").forEach((radio) => radio.addEventListener("change", () => { state.auto = false; show(); begin(); }));
  addEventListener("resize", () => { figures(); });

  async function sixMethods() {
    if ($("methods").disabled) return;
    $("methods").disabled = true;
    const body = $("table").tBodies[0];
    body.replaceChildren();
    try {
      const worker = await towline.worker();
      const rows = await worker.ask({ do: "methods", iterations: 20000, seed: Number($("seed").value) || 0 });
      worker.end();
      for (const row of rows) {
        const line = body.insertRow();
        const cost = row.reliable ? `${figure(row.slow_per_draw, 2)} ± ${figure(row.slow_error, 1)}` : `about ${figure(row.slow_per_draw, 2)}`;
        for (const text of [row.name, row.settings, cost, figure(row.fast_per_slow, 2), `${(100 * row.acceptance).toFixed(0)} %`]) line.insertCell().textContent = text;
        const canvas = document.createElement("canvas");
        line.insertCell().append(canvas);
        paint.traces(canvas, [row.trace], X);
      }
    } catch (error) {
      say(error.message, true);
    }
    $("methods").disabled = false;
  }

  show();
  begin();
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) { play(false); state.share = 1; }
  requestAnimationFrame(animate);
})();
