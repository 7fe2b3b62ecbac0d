// What both live pages paint with: canvases as sharp as the screen, colours of the page's scheme, traces.
"use strict";

const paint = {
  /** Colours of the scheme, read from the page's style. */
  colours(element) {
    const style = getComputedStyle(element);
    const get = (name) => style.getPropertyValue(name).trim();
    return {
      ink: get("--live-ink"), faint: get("--live-faint"), ground: get("--live-ground"), slow: get("--live-slow"), fast: get("--live-fast"),
      yes: get("--live-yes"), no: get("--live-no"), chains: [1, 2, 3, 4, 5, 6].map((k) => get(`--live-chain-${k}`)),
    };
  },

  /** A canvas of the size that it has in the page, cleared: its context, width and height in CSS pixels. */
  fresh(canvas) {
    const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, window.devicePixelRatio || 1];
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height };
  },

  line(context, points, colour, width = 1.5) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  },

  dot(context, x, y, radius, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  },

  /** Traces of chains over each other, all on one scale. */
  traces(canvas, chains, range) {
    const { context, width, height } = this.fresh(canvas);
    const all = this.colours(canvas);
    let [low, high] = range || [Infinity, -Infinity];
    if (!range) for (const chain of chains) for (const v of chain) { low = Math.min(low, v); high = Math.max(high, v); }
    if (!(high > low)) [low, high] = [low - 1, high + 1];
    const longest = Math.max(2, ...chains.map((chain) => chain.length));
    chains.forEach((chain, k) => {
      const at = (v, i) => [(i / (longest - 1)) * width, height - 2 - ((v - low) / (high - low)) * (height - 4)];
      // No more points than the screen can show.
      const every = Math.max(1, Math.floor(chain.length / (2 * width)));
      this.line(context, chain.map(at).filter((_, i) => i % every === 0), all.chains[k % all.chains.length], 1);
    });
  },
};

/** A number in few characters. */
function figure(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}
