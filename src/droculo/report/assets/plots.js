// Regret, what communication buys, and growth with the horizon.

// ---- 1. regret

const HOW = {
  certified: "The certificate is an upper bound on alpha-regret that needs no optimum, so it is what a method can prove; lower is better.",
  regret: "Alpha-regret is how much less a method earned than alpha times the best fixed point; lower is better.",
  share: "What a method earned so far, over what the best fixed point earned in the same rounds; higher is better.",
  reward: "What the average agent earned, as the mean of all agents' functions; higher is better.",
  consensus_gap: "The largest distance of an agent's decision to the mean of all decisions; lower is closer to agreement.",
};

function drawRegret() {
  const y = $("y").value, x = $("x").value, curves = shownAt().filter((c) => has(c.quantities[y]));
  const summed = ["certified", "regret", "reward"].includes(y);
  $("per").disabled = !summed;
  const per = summed && $("per").value === "round";
  const notes = [];
  const lines = curves.map((curve) => {
    const band = curve.quantities[y], t = curve.costs.round;
    // Agents that agree are as far apart as rounding puts them: that is no gap.
    const scale = (values, i) => !present(values[i]) ? null : y === "consensus_gap" && values[i] < 1e-9 ? 0 : values[i] / (per ? t[i] : 1);
    const points = t.map((round, i) => ({
      round, x: curve.costs[x][i], y: scale(band.mean, i), low: scale(band.low, i), high: scale(band.high, i),
    })).filter((p) => present(p.y));
    return { curve, points };
  });
  let all = lines.flatMap((l) => l.points);
  const negative = all.some((p) => p.low < 0);
  const logY = !negative && ["certified", "regret", "consensus_gap"].includes(y) && all.some((p) => p.y > 0);
  const logX = all.some((p) => p.x > 0);
  if (negative && y === "regret") notes.push("The vertical axis is linear: alpha-regret is negative where a method beats its guarantee.");
  else if (negative) notes.push("The vertical axis is linear, since some values are negative.");
  if (logY && all.some((p) => p.y === 0)) notes.push("Zeros are not drawn, since the vertical axis is logarithmic.");
  if (logX && x !== "round") {
    const never = lines.filter((l) => l.points.every((p) => p.x <= 0)).map((l) => l.curve.name);
    if (never.length) notes.push(`Not drawn: ${listed(never)}, with no ${data.costs[x]} at all.`);
    else if (all.some((p) => p.x <= 0)) notes.push(`Curves begin where the first ${data.costs[x]} are spent.`);
  }
  if (curves.some((c) => c.sampled)) notes.push("Single points are runs too large to measure whole: estimates from a sample, at the end alone.");
  for (const line of lines) line.points = line.points.filter((p) => (!logX || p.x > 0) && (!logY || p.y > 0));
  all = lines.flatMap((l) => l.points);

  const traces = [];
  for (const { curve, points } of lines) {
    const banded = points.filter((p) => !logY || p.low > 0);
    if (curve.seeds > 1 && banded.length > 1) traces.push({
      x: [...banded.map((p) => p.x), ...banded.map((p) => p.x).reverse()],
      y: [...banded.map((p) => p.high), ...banded.map((p) => p.low).reverse()],
      mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faded(colour(curve), dark() ? 0.2 : 0.14), hoverinfo: "skip", name: curve.name,
    });
  }
  for (const { curve, points } of lines) traces.push({
    x: points.map((p) => p.x), y: points.map((p) => p.y), mode: "lines+markers", name: plain(curve.name), meta: curve.label,
    line: { color: colour(curve), width: 2.2, dash: dash(curve) },
    marker: { symbol: mark(curve), color: colour(curve), size: points.map((_, i) => (i === points.length - 1 ? 9 : 0)), opacity: 1, line: { width: 0 } },
    customdata: points.map((p) => [number(p.y), number(p.low), number(p.high), number(p.round), number(p.x)]),
    hovertemplate: `<b>%{fullData.name}</b><br>%{customdata[0]}  (seeds: %{customdata[1]} to %{customdata[2]})<br>` +
      `after %{customdata[3]} rounds${x === "round" ? "" : `, %{customdata[4]} ${data.costs[x]}`}<extra></extra>`,
  });
  const what = data.quantities[y] + (per ? " a round" : "");
  const range = all.flatMap((p) => [p.low, p.high]).filter((v) => v > 0);
  draw("plot-regret", traces, layout(what, {
    xaxis: { name: data.costs[x] + (x === "round" ? "" : ", average agent"), ...(logX ? logAxis(all.map((p) => p.x), 0.03) : {}) },
    yaxis: logY ? logAxis(range, 0.06) : {},
  }), `${y}-${x}`);
  if (!curves.length) notes.unshift("No method is chosen.");
  $("regret-note").textContent = notes.join(" ");
  $("regret-read").textContent = HOW[y] + (instance().seeds.length > 1
    ? " Lines are means over agents and seeds, bands reach from the lowest to the highest seed." : " Lines are means over agents, of one seed.");
}

// ---- 2. Pareto

function drawPareto() {
  const what = guarantee(), cost = $("cost").value, T = state.horizon;
  $("plot-pareto").hidden = !what;
  if (!what) {
    $("pareto-note").textContent = "Neither a certificate nor a best fixed point is known here, so there is no regret to show.";
    return;
  }
  $("pareto-what").textContent = data.quantities[what];
  const points = shownAt().filter((c) => present(c.totals[what])).map((curve) => ({
    curve, x: curve.totals[cost], y: curve.totals[what] / T, low: curve.spread[what][0] / T, high: curve.spread[what][1] / T,
  }));
  const logX = points.some((p) => p.x > 0), logY = points.length > 0 && points.every((p) => p.low > 0);
  const drawn = points.filter((p) => !logX || p.x > 0);
  const notes = [];
  const lost = points.filter((p) => !drawn.includes(p)).map((p) => p.curve.name);
  if (lost.length) notes.push(`Not drawn on a logarithmic axis: ${listed(lost)}, with no ${data.costs[cost]} at all.`);
  if (!logY && points.length) notes.push("The vertical axis is linear, since some values are not positive.");
  if (!points.length) notes.push("No method is chosen.");
  $("pareto-note").textContent = notes.join(" ");
  const front = drawn.filter((p) => !drawn.some((q) => q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y))).sort((a, b) => a.x - b.x);
  const traces = [{
    x: front.map((p) => p.x), y: front.map((p) => p.y), mode: "lines", line: { color: css("--soft"), width: 6 }, opacity: 0.22,
    hoverinfo: "skip", name: "Pareto front",
  }, ...drawn.map((p) => ({
    x: [p.x], y: [p.y], mode: "markers", name: plain(p.curve.name), meta: p.curve.label,
    marker: { symbol: mark(p.curve), color: colour(p.curve), size: 11, line: { width: 1.5, color: css("--paper") } },
    error_y: { type: "data", symmetric: false, array: [p.high - p.y], arrayminus: [p.y - p.low], color: colour(p.curve), thickness: 1.5, width: 0 },
    customdata: [[number(p.y), number(p.low), number(p.high), number(p.x)]],
    hovertemplate: `<b>%{fullData.name}</b><br>%{customdata[0]} a round  (seeds: %{customdata[1]} to %{customdata[2]})<br>` +
      `%{customdata[3]} ${data.costs[cost]}${front.includes(p) ? "<br>on the Pareto front" : ""}<extra></extra>`,
  }))];
  draw("plot-pareto", traces, layout(`${data.quantities[what]} a round`, {
    xaxis: { name: `${data.costs[cost]}, average agent, T = ${number(T)}`, ...(logX ? logAxis(drawn.map((p) => p.x), 0.08) : {}) },
    yaxis: logY ? logAxis(drawn.flatMap((p) => [p.low, p.high]), 0.1) : {},
  }), `pareto-${cost}`);
}

// ---- 3. growth

function drawSlopes() {
  const one = instance().slopes.every((s) => s.horizons.length < 2);
  $("slopes").hidden = one;
  $("slopes-none").hidden = !one;
  if (one) {
    const T = instance().horizons[0];
    $("slopes-none").textContent = !instance().slopes.length
      ? "No certificate is known here, so its growth cannot be shown."
      : `No method was played at more than one horizon, so there is no growth to see. List more of them in the spec, as in ` +
        `horizons = [${Math.ceil(T / 4)}, ${Math.ceil(T / 2)}, ${T}], and run it again: finished cells are not run twice.`;
    return;
  }
  const found = instance().slopes.filter((s) => state.shown.has(s.label) && s.horizons.length > 1);
  const curve = (s) => instance().curves.find((c) => c.label === s.label);
  const logY = found.every((s) => s.certified.low.every((v) => v > 0));
  const traces = [];
  for (const s of found) {
    const last = s.horizons.length - 1;
    if (logY && present(s.promised)) traces.push({
      x: s.horizons, y: s.horizons.map((T) => s.certified.mean[last] * (T / s.horizons[last]) ** s.promised), mode: "lines",
      line: { color: colour(curve(s)), width: 1, dash: "5px,4px" }, opacity: 0.75, hoverinfo: "skip", name: `${plain(curve(s).name)}, promised`,
    });
  }
  for (const s of found) traces.push({
    x: s.horizons, y: s.certified.mean, mode: "lines+markers", name: plain(curve(s).name), meta: s.label,
    line: { color: colour(curve(s)), width: 2.2, dash: dash(curve(s)) },
    marker: { symbol: mark(curve(s)), color: colour(curve(s)), size: 8 },
    error_y: {
      type: "data", symmetric: false, array: s.certified.high.map((v, i) => v - s.certified.mean[i]),
      arrayminus: s.certified.low.map((v, i) => s.certified.mean[i] - v), color: colour(curve(s)), thickness: 1.2, width: 0,
    },
    customdata: s.horizons.map((T, i) => [number(s.certified.mean[i]), number(T), number(s.slope), number(s.promised)]),
    hovertemplate: "<b>%{fullData.name}</b><br>%{customdata[0]} after %{customdata[1]} rounds<br>slope %{customdata[2]}, promised %{customdata[3]}<extra></extra>",
  });
  const horizons = [...new Set(found.flatMap((s) => s.horizons))];
  const values = found.flatMap((s) => [...s.certified.low, ...s.certified.high]);
  draw("plot-slopes", traces, layout("certified regret, cumulative", {
    xaxis: { name: "horizon T", ...logAxis(horizons, 0.06), tickmode: "array", tickvals: horizons, ticktext: horizons.map(number) },
    yaxis: logY ? logAxis(values, 0.08) : {},
  }), "growth");
  $("slopes-note").textContent = !found.length ? "None of the chosen methods was played at more than one horizon."
    : logY ? "" : "The vertical axis is linear, and no promise is drawn: some values are not positive.";
  const rows = found.map((s) => make("tr", {},
    make("td", {}, swatch(curve(s)), curve(s).name),
    make("td", { class: "number" }, number(s.slope)),
    make("td", { class: "number" }, present(s.low) ? `${number(s.low)} to ${number(s.high)}` : "\u2013"),
    make("td", { class: "number" }, number(s.promised)),
    make("td", {}, s.source || "no theorem for this")));
  fill($("slopes-table"),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "method"), make("th", { class: "number", scope: "col" }, "slope"),
      make("th", { class: "number", scope: "col" }, "95% interval"), make("th", { class: "number", scope: "col" }, "promised, at most"), make("th", { scope: "col" }, "by"))),
    make("tbody", {}, ...rows));
}
