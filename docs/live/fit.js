// A mixed model of a visitor's table: a form of a few fields, chains in workers, and a table that grows.
"use strict";

(async () => {
  const $ = (id) => document.getElementById(id);
  const say = (text, wrong) => { $("said").textContent = text; $("said").classList.toggle("wrong", Boolean(wrong)); };
  const CHAINS = 4;
  /** More parameters than this make a long page; the others are counted. */
  const MOST = 60;

  let engine;
  try {
    engine = await towline.here();
  } catch (error) {
    return say(error.message, true);
  }
  say("");
  let table = null, stop = false;

  /** Takes a table, and fills in what might be meant. */
  function take(name, csv, formula, family) {
    try {
      const contents = engine.ask({ do: "table", name, csv });
      table = { name, csv, contents };
      const numeric = contents.columns.filter((c) => c.numeric);
      $("extra").replaceChildren(new Option(""), ...numeric.map((c) => new Option(c.name)));
      $("family").value = family || guess(contents)[1];
      $("formula").value = formula || guess(contents)[0];
      extra();
      $("form").hidden = false;
      say(`${name}: ${contents.rows.toLocaleString("en")} rows, columns ${contents.columns.map((c) => c.name).join(", ")}. Change the formula, then fit it.`);
      $("formula").focus();
    } catch (error) {
      say(error.message, true);
    }
  }

  /** A first formula: something to count or decide, one covariate, one group. */
  function guess({ rows, columns }) {
    const quote = (c) => (/^[A-Za-z.][\w.]*$/.test(c.name) ? c.name : `\`${c.name}\``);
    const group = columns.find((c) => c.values > 4 && c.values < rows / 2 && (!c.numeric || c.counts) && !c.binary);
    const response = columns.find((c) => c.binary && c !== group) || columns.find((c) => c.counts && c !== group && c.values > 2 && c.values < rows) || columns.find((c) => c.numeric && c !== group);
    const covariate = columns.find((c) => c.numeric && !c.binary && c !== response && c !== group && c.values < rows) || columns.find((c) => c.values === 2 && c !== response);
    if (!response) return ["y ~ x + (1 | group)", "gaussian"];
    const family = response.binary ? "bernoulli" : response.counts ? "poisson" : "gaussian";
    const right = [covariate && quote(covariate), group && `(1 | ${quote(group)})`].filter(Boolean);
    return [`${quote(response)} ~ ${right.join(" + ") || "1"}`, family];
  }

  /** Trials for binomial responses, exposure for counts. */
  function extra() {
    const family = $("family").value;
    const label = { binomial: "Trials", poisson: "Exposure (optional)", negative_binomial: "Exposure (optional)" }[family];
    $("extra-label").hidden = !label;
    if (label) $("extra-label").firstChild.textContent = `${label} `;
  }

  function modelFile() {
    const lines = [`family = ${JSON.stringify($("family").value)}`, `formula = ${JSON.stringify($("formula").value)}`, "", "[data]", `file = ${JSON.stringify(table.name)}`];
    if (!$("extra-label").hidden && $("extra").value) lines.push(`${$("family").value === "binomial" ? "trials" : "exposure"} = ${JSON.stringify($("extra").value)}`);
    return `${lines.join("\n")}\n`;
  }

  function describe(model, look, draws, seed) {
    $("model").textContent = `${model}\n# the same draws on your machine, many times as fast:\n# towline fit model.toml --draws ${draws} --seed ${seed} --cost-ratio 100`;
    const body = $("priors").tBodies[0];
    body.replaceChildren();
    for (const row of look.priors) {
      const line = body.insertRow();
      row.forEach((text) => { line.insertCell().textContent = text; });
    }
    $("more").hidden = false;
  }

  /** Summaries of all columns; traces at each of them. */
  function show(names, columns) {
    const shown = names.slice(0, MOST);
    const lines = engine.ask({ do: "summary", columns: columns.slice(0, MOST) });
    const body = $("table").tBodies[0];
    while (body.rows.length < shown.length) {
      const line = body.insertRow();
      for (let k = 0; k < 8; k += 1) line.insertCell();
      line.insertCell().append(document.createElement("canvas"));
    }
    $("table").hidden = false;
    shown.forEach((name, k) => {
      const [cells, s] = [body.rows[k].cells, lines[k]];
      [name, ...[s.mean, s.sd, s.q2_5, s.median, s.q97_5].map((v) => figure(v, 3)), figure(s.ess_bulk, 3), s.rhat === null ? "–" : s.rhat.toFixed(3)].forEach((text, c) => { cells[c].textContent = text; });
      paint.traces(cells[8].firstChild, columns[k]);
    });
    return lines;
  }

  async function fit() {
    if (!table) return;
    const [draws, seed, model] = [Math.max(100, Number($("draws").value) || 500), Number($("seed").value) || 0, modelFile()];
    stop = false;
    $("table").tBodies[0].replaceChildren();
    $("table").hidden = true;
    try {
      const look = engine.ask({ do: "look", model, csv: table.csv });
      describe(model, look, draws, seed);
      say(`${look.rows.toLocaleString("en")} rows, ${look.slow} slow and ${look.fast} fast parameters. ${look.notes.join(". ")}`);
      $("go").disabled = true;
      $("stop").disabled = false;
      $("progress").hidden = false;
      $("progress").removeAttribute("value");
      let painted = 0;
      const begun = performance.now();
      const see = (now) => {
        if (now.phase === "warm-up") return say(`Warm-up, stage ${now.stage + 1} of 5 …`);
        const made = Math.min(...now.columns[0].map((c) => c.length));
        $("progress").value = made / draws;
        // A table of summaries takes time: not at every block of draws.
        if (performance.now() - painted > 700 && made >= 50) {
          show(now.names, now.columns);
          painted = performance.now();
        }
        return say(`${made.toLocaleString("en")} of ${draws.toLocaleString("en")} draws of each chain …`);
      };
      const done = await towline.chains({ model, csv: table.csv, chains: CHAINS, draws, seed, ratio: 100, see, stopped: () => stop });
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      if (done.columns[0][0].length) {
        const lines = show(done.names, done.columns);
        const worst = Math.max(...lines.map((l) => l.rhat ?? 0));
        const more = done.names.length > MOST ? ` ${done.names.length - MOST} more parameters are not shown.` : "";
        const verdict = worst > 1.01 ? `R-hat is up to ${worst.toFixed(3)}: make more draws before you use these.` : "The chains agree.";
        const slow = done.spent.reduce((sum, s) => sum + s.slow, 0);
        say(`${stop ? "Stopped" : "Done"} after ${seconds} s and ${slow.toLocaleString("en")} slow evaluations. ${verdict}${more} ${(done.chosen ? done.chosen.notes : []).join(" ")}`);
      } else {
        say("Stopped before there were draws.");
      }
      window.towlineDone = done;
    } catch (error) {
      say(error.message, true);
    }
    $("go").disabled = false;
    $("stop").disabled = true;
    $("progress").hidden = true;
  }

  const read = async (file) => take(file.name, await file.text());
  $("drop").addEventListener("click", (event) => { if (event.target.id !== "example") $("file").click(); });
  $("drop").addEventListener("keydown", (event) => { if (event.target.id === "drop" && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); $("file").click(); } });
  $("file").addEventListener("change", () => $("file").files[0] && read($("file").files[0]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    $("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      $("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
    });
  }
  $("example").addEventListener("click", () => { const e = window.exampleTable; take(e.name, e.csv, e.formula, e.family); });
  $("family").addEventListener("change", extra);
  $("go").addEventListener("click", fit);
  $("formula").addEventListener("keydown", (event) => { if (event.key === "Enter") fit(); });
  $("stop").addEventListener("click", () => { stop = true; });
})();
