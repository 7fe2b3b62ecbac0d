// The report's behaviour: a parameter is chosen, its plots are drawn; colours follow the theme.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const chain = (k) => colour("c" + (k % 8));
  const el = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props);
    node.append(...children);
    return node;
  };
  const dim = (node) => node.getBoundingClientRect();

  // Numbers: four digits where they matter, no more.
  const show = (v, digits = 4) => {
    if (v === null || v === undefined) return "–";
    const size = Math.abs(v);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return v.toExponential(Math.max(digits - 2, 0)).replace("e+", "e");
    return String(Number(v.toPrecision(digits)));
  };
  const fixed = (v) => {
    if (v === null) return "–";
    const size = Math.abs(v);
    if (size === 0) return "0";
    if (size < 1e-3 || size >= 1e6) return v.toExponential(2).replace("e+", "e");
    return v.toFixed(Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(size)))));
  };
  const whole = (v) => (v === null ? "–" : Math.round(v).toLocaleString("en"));
  const tick = (v) => show(v, 5);

  let current = 0;
  const hidden = new Set();
  let plots = [];

  // ---- theme ----
  const stored = (() => { try { return localStorage.getItem("towline-theme"); } catch { return null; } })();
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const setTheme = (theme) => { root.dataset.theme = theme; };
  setTheme(stored || (prefers.matches ? "dark" : "light"));
  prefers.addEventListener("change", (e) => { setTheme(e.matches ? "dark" : "light"); draw(); });
  $("theme").addEventListener("click", () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    setTheme(next);
    try { localStorage.setItem("towline-theme", next); } catch { /* a file may not remember */ }
    draw();
  });

  // ---- table ----
  const heads = ["", "mean", "sd", "5 %", "50 %", "95 %", "MCSE", "ESS bulk", "ESS tail", "R-hat"];
  const table = $("table");
  table.append(el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", { textContent: h, scope: "col" })))));
  const body = el("tbody");
  data.parameters.forEach((p, k) => {
    const row = el("tr", { tabIndex: 0 });
    row.append(el("td", { className: "name", textContent: p.name }));
    if (p.role === "derived") row.firstChild.append(el("small", { textContent: "derived" }));
    p.figures.forEach((v, j) => {
      const text = j < 6 ? fixed(v) : j < 8 ? whole(v) : v === null ? "–" : v.toFixed(3);
      const poor = v !== null && ((j === 8 && v > data.rhat_limit) || ((j === 6 || j === 7) && v < data.ess_wanted));
      row.append(el("td", { textContent: text, className: poor ? "poor" : "" }));
    });
    row.addEventListener("click", () => choose(k));
    row.addEventListener("keydown", (e) => { if (e.key === "Enter") choose(k); });
    body.append(row);
  });
  table.append(body);

  const select = $("parameter");
  data.parameters.forEach((p, k) => select.append(el("option", { value: k, textContent: p.name })));
  select.addEventListener("change", () => choose(Number(select.value)));

  const choose = (k) => { current = k; select.value = k; draw(); };

  // ---- plots ----
  const axis = (more = {}) => ({
    stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif", values: (_, list) => list.map((v) => (v === null ? "" : tick(v))), ...more,
  });
  // The width that the longest label needs.
  const room = (u, values) => 14 + 7 * Math.max(2, ...(values || []).map((v) => String(v).length));
  const tip = (label) => ({
    hooks: {
      init: (u) => { u.tip = el("div", { className: "tip" }); u.over.append(u.tip); },
      setCursor: (u) => {
        const { left, top, idx } = u.cursor;
        if (idx === null || idx === undefined || left < 0) { u.tip.style.display = "none"; return; }
        const lines = [el("div", { textContent: label(u.data[0][idx]) })];
        u.series.slice(1).forEach((s, k) => {
          const v = u.data[k + 1][idx];
          if (!s.show || v === null || v === undefined || !s.label) return;
          const dot = el("i");
          dot.style.background = s.colour;
          lines.push(el("div", {}, dot, (s.label ? s.label + " " : "") + show(v)));
        });
        u.tip.replaceChildren(...lines.slice(0, 12));
        u.tip.style.display = "block";
        const wide = dim(u.tip).width;
        const flip = left + wide + 20 > dim(u.over).width;
        u.tip.style.left = (flip ? left - wide - 12 : left + 12) + "px";
        u.tip.style.top = Math.max(0, top - 20) + "px";
      },
    },
  });
  const series = (k, more = {}) => ({ label: "chain " + k, stroke: chain(k), colour: chain(k), width: 1.4, points: { show: false }, show: !hidden.has(k), spanGaps: false, ...more });
  const plot = (id, options, values) => {
    const box = $(id);
    box.replaceChildren();
    if (!values[0] || values[0].length < 2) { box.append(el("p", { className: "empty", textContent: "Too few different draws to plot" })); return null; }
    const size = dim(box);
    const u = new uPlot({ width: size.width, height: size.height, legend: { show: false }, cursor: { y: false, points: { size: 6 } }, ...options }, values, box);
    plots.push({ u, box });
    return u;
  };
  const band = (p) => ({
    hooks: { drawClear: (u) => {
      const [low, high] = [p.figures[2], p.figures[4]];
      if (low === null || high === null) return;
      const a = Math.max(u.valToPos(low, "x", true), u.bbox.left), b = Math.min(u.valToPos(high, "x", true), u.bbox.left + u.bbox.width);
      u.ctx.save(); u.ctx.fillStyle = colour("faint"); u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height); u.ctx.restore();
    } },
  });
  const level = (value) => ({
    hooks: { draw: (u) => {
      const y = u.valToPos(value, "y", true);
      if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
      u.ctx.save(); u.ctx.strokeStyle = colour("poor"); u.ctx.setLineDash([4, 4]); u.ctx.lineWidth = 1;
      u.ctx.beginPath(); u.ctx.moveTo(u.bbox.left, y); u.ctx.lineTo(u.bbox.left + u.bbox.width, y); u.ctx.stroke(); u.ctx.restore();
    } },
  });
  const numeric = { x: { time: false } };

  const drawDetail = () => {
    plots.forEach(({ u }) => u.destroy());
    plots = [];
    const p = data.parameters[current];
    [...body.children].forEach((row, k) => row.classList.toggle("on", k === current));
    const each = p.trace.map((_, k) => k);
    plot("trace", {
      scales: numeric, series: [{}, ...each.map((k) => series(k, { width: 1 }))],
      axes: [axis({ size: 30, values: (_, l) => l.map(whole) }), axis({ size: room })], plugins: [tip((v) => "draw " + whole(v))],
    }, [data.steps, ...p.trace]);
    plot("density", {
      scales: { ...numeric, y: { range: (_, low, high) => [0, high * 1.06] } }, series: [{}, ...each.map((k) => series(k, { width: 1.8 }))],
      axes: [axis({ size: 30 }), axis({ show: false })], plugins: [band(p), tip((v) => p.name + " = " + show(v))],
    }, [p.grid, ...p.densities]);
    plot("lags", {
      scales: { ...numeric, y: { range: (_, low) => [Math.min(-0.1, low), 1.02] } }, series: [{}, ...each.map((k) => series(k, { width: 1.8 }))],
      axes: [axis({ size: 30 }), axis({ size: room })], plugins: [tip((v) => "lag " + v)],
    }, [(p.lags[0] || []).map((_, k) => k), ...p.lags]);
    const one = { stroke: colour("accent"), colour: colour("accent"), width: 2, points: { show: true, size: 4, fill: colour("accent") } };
    plot("rhat", {
      scales: { ...numeric, y: { range: (_, low, high) => [Math.min(1, low ?? 1), Math.max(1.02, high ?? 1.02)] } }, series: [{}, { label: "R-hat", ...one }],
      axes: [axis({ values: (_, l) => l.map(() => ""), size: 8 }), axis({ label: "R-hat", labelSize: 18, labelFont: "12px system-ui", size: 52 })],
      plugins: [level(data.rhat_limit), tip((v) => whole(v) + " draws")], cursor: { sync: { key: "along" }, y: false, points: { size: 6 } },
    }, [data.moments, p.rhat]);
    plot("ess", {
      scales: { ...numeric, y: { range: (_, low, high) => [0, Math.max(1, high ?? 1) * 1.08] } }, series: [{}, { label: "ESS", ...one }],
      axes: [axis({ size: 30, values: (_, l) => l.map(whole) }), axis({ label: "ESS bulk", labelSize: 18, labelFont: "12px system-ui", size: 52, values: (_, l) => l.map(whole) })],
      plugins: [level(data.ess_wanted), tip((v) => whole(v) + " draws")], cursor: { sync: { key: "along" }, y: false, points: { size: 6 } },
    }, [data.moments, p.ess]);
    drawRanks(p);
  };

  // ---- svg pieces ----
  const svg = (tag, props = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [k, v] of Object.entries(props)) node.setAttribute(k, v);
    node.append(...children);
    return node;
  };
  const text = (x, y, content, props = {}) => {
    const node = svg("text", { x, y, fill: colour("soft"), "font-size": 12, "text-anchor": "middle", ...props });
    node.textContent = content;
    return node;
  };

  const drawRanks = (p) => {
    const box = $("ranks");
    const { width, height } = dim(box);
    const bins = p.ranks[0] ? p.ranks[0].length : 0;
    const shown = p.ranks.map((r, k) => [r, k]).filter(([, k]) => !hidden.has(k));
    const tallest = Math.max(1, ...p.ranks.flat());
    const [left, bottom] = [8, 24];
    const each = (height - bottom - 6) / Math.max(1, shown.length);
    const wide = (width - 2 * left) / Math.max(1, bins);
    const picture = svg("svg", { width, height, role: "img", "aria-label": "Rank histograms of " + p.name });
    shown.forEach(([counts, k], row) => {
      const base = 6 + each * (row + 1) - 2;
      const unit = (each - 8) / tallest;
      const expected = counts.reduce((a, b) => a + b, 0) / bins;
      counts.forEach((count, bin) => {
        const bar = svg("rect", { x: left + bin * wide + 1, y: base - count * unit, width: Math.max(1, wide - 2), height: Math.max(0, count * unit), fill: chain(k), rx: 1.5 });
        const title = svg("title");
        title.textContent = `chain ${k}: ${count} draws where ${show(expected)} are expected`;
        bar.append(title);
        picture.append(bar);
      });
      const y = base - expected * unit;
      picture.append(svg("line", { x1: left, x2: width - left, y1: y, y2: y, stroke: colour("ink"), "stroke-dasharray": "3 4", "stroke-opacity": .55 }));
    });
    picture.append(text(left, height - 6, "lowest", { "text-anchor": "start" }), text(width / 2, height - 6, "rank among all draws"), text(width - left, height - 6, "highest", { "text-anchor": "end" }));
    box.replaceChildren(picture);
  };

  const legend = $("legend");
  const drawLegend = () => legend.replaceChildren(...Array.from({ length: data.chains }, (_, k) => {
    const dot = el("i");
    dot.style.background = chain(k);
    const button = el("button", { type: "button", className: hidden.has(k) ? "off" : "" }, dot, "chain " + k);
    button.setAttribute("aria-pressed", String(!hidden.has(k)));
    button.addEventListener("click", () => { hidden.has(k) ? hidden.delete(k) : hidden.add(k); drawLegend(); drawDetail(); });
    return button;
  }));

  // ---- corner ----
  const corner = new Set(data.parameters.map((_, k) => k).filter((k) => data.parameters[k].role !== "latent").slice(0, 4));
  const chooser = $("choose");
  data.parameters.forEach((p, k) => {
    const button = el("button", { type: "button", textContent: p.name });
    button.addEventListener("click", () => {
      corner.has(k) ? corner.delete(k) : corner.add(k);
      drawCorner();
    });
    chooser.append(button);
  });
  const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
  const niceTicks = (low, high) => {
    const raw = (high - low) / 4.2, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
    const out = [];
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) out.push(Math.abs(v) < 1e-9 * step ? 0 : v);
    return out;
  };
  const drawCorner = () => {
    [...chooser.children].forEach((b, k) => b.setAttribute("aria-pressed", String(corner.has(k))));
    const list = [...corner].sort((a, b) => a - b).map((k) => data.parameters[k]);
    const box = $("corner");
    if (!list.length) { box.replaceChildren(el("p", { className: "empty", textContent: "Choose parameters above" })); return; }
    const available = Math.min(1060, dim(document.querySelector("main")).width - 60);
    const cell = Math.max(92, Math.min(210, (available - 60) / list.length));
    const [left, bottom, gap] = [62, 48, 6];
    const total = list.length * cell;
    const picture = svg("svg", { width: left + total + 8, height: total + bottom, role: "img", "aria-label": "Corner plot" });
    const draws = list.map((p) => p.trace.flat());
    const ranges = draws.map((d) => {
      const sorted = d.filter((v) => v !== null).sort((a, b) => a - b);
      const [low, high] = [quantile(sorted, 0.005), quantile(sorted, 0.995)];
      const pad = (high - low) * 0.06 || 1;
      return [low - pad, high + pad];
    });
    const place = (k, v, size) => ((v - ranges[k][0]) / (ranges[k][1] - ranges[k][0])) * size;
    const size = cell - gap;
    list.forEach((p, row) => {
      for (let col = 0; col <= row; col++) {
        const [x0, y0] = [left + col * cell, row * cell];
        const group = svg("g", { transform: `translate(${x0} ${y0})` });
        group.append(svg("rect", { width: size, height: size, fill: "none", stroke: colour("line") }));
        if (col === row) {
          const points = p.grid.map((v, k) => [place(row, v, size), p.densities.reduce((a, d) => a + d[k], 0) / p.densities.length]).filter(([x]) => x >= 0 && x <= size);
          const top = Math.max(...points.map(([, y]) => y));
          if (points.length) {
            const path = points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${(size - (y / top) * size * 0.9).toFixed(1)}`).join("");
            group.append(svg("path", { d: `${path}L${points.at(-1)[0]} ${size}L${points[0][0]} ${size}Z`, fill: colour("accent"), "fill-opacity": .16 }), svg("path", { d: path, fill: "none", stroke: colour("accent"), "stroke-width": 1.8 }));
          }
        } else {
          const [a, b] = [draws[col], draws[row]];
          const stride = Math.max(1, Math.ceil(a.length / 1500));
          let path = "";
          for (let k = 0; k < a.length; k += stride) {
            if (a[k] === null || b[k] === null) continue;
            const [x, y] = [place(col, a[k], size), size - place(row, b[k], size)];
            if (x >= 0 && x <= size && y >= 0 && y <= size) path += `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
          }
          group.append(svg("path", { d: path, stroke: colour("accent"), "stroke-width": 2.6, "stroke-linecap": "round", "stroke-opacity": root.dataset.theme === "dark" ? .5 : .3 }));
        }
        if (row === list.length - 1) {
          for (const v of niceTicks(...ranges[col])) group.append(svg("line", { x1: place(col, v, size), x2: place(col, v, size), y1: size, y2: size + 4, stroke: colour("line") }), text(place(col, v, size), size + 17, tick(v), { "font-size": 11 }));
          group.append(text(size / 2, size + 36, list[col].name, { fill: colour("ink"), "font-weight": 600, "font-size": 13 }));
        }
        if (col === 0 && row > 0) {
          for (const v of niceTicks(...ranges[row])) group.append(svg("line", { x1: -4, x2: 0, y1: size - place(row, v, size), y2: size - place(row, v, size), stroke: colour("line") }), text(-7, size - place(row, v, size) + 4, tick(v), { "text-anchor": "end", "font-size": 11 }));
          group.append(text(0, 0, p.name, { transform: `translate(-48 ${size / 2}) rotate(-90)`, fill: colour("ink"), "font-weight": 600, "font-size": 13 }));
        }
        picture.append(group);
      }
    });
    box.replaceChildren(picture);
  };

  // ---- cost and tuning ----
  $("cost").replaceChildren(...data.cost.map((c) => {
    const total = c.warmup + c.sampling || 1;
    const [a, b] = [el("i"), el("i")];
    a.style.width = (100 * c.warmup) / total + "%";
    b.style.flex = "1";
    return el("div", { className: "meter" }, el("p", {}, el("span", { textContent: c.name }), el("small", { textContent: c.text })), el("div", {}, a, b));
  }));
  if ($("trials") && data.trials.length) {
    const best = Math.max(...data.trials.map((t) => t.worth ?? 0)) || 1;
    $("trials").append(
      el("thead", {}, el("tr", {}, ...["tried", "n", "proposal", "accepted", "worth"].map((h) => el("th", { textContent: h })))),
      el("tbody", {}, ...data.trials.map((t) => el("tr", {}, ...[
        t.frame + (t.chosen ? " ✓" : ""), String(t.n), t.learned ? "learned" : "walk",
        t.acceptance === null ? "–" : (100 * t.acceptance).toFixed(0) + " %", t.worth === null ? "–" : ((100 * t.worth) / best).toFixed(0) + " %",
      ].map((v) => el("td", { textContent: v }))))));
  }

  const draw = () => { drawLegend(); drawDetail(); drawCorner(); };
  let last = window.innerWidth, waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === last) return;
    last = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 120);
  });
  draw();
  root.dataset.ready = "yes";
})();
