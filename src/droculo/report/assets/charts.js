// The charts: each is described in the data (droculo/report/charts.py), and drawn by one function.

const PER = { round: "a round", total: "cumulative" };
const choose = (c, part) => $(`${c.name}-${part}`);

// A section for each chart: a sentence with its choosers, the plot, and what to say about it.
function makeCharts() {
  fill($("charts"), ...data.charts.map((c) => {
    const chooser = (part, label) => make("span", {}, make("select", { id: `${c.name}-${part}`, "aria-label": label }), make("span", {}));
    const section = make("section", { "aria-labelledby": `${c.name}-title` }, make("h2", { id: `${c.name}-title` }, c.title),
      make("p", { class: "sentence" }, "Show ", chooser("y", "Quantity"), " ", chooser("per", "Per round or cumulative"),
        c.last ? ", at the end of a run, against " : " against ", chooser("x", "Cost")),
      make("div", { class: "plot", id: `plot-${c.name}`, role: "img", "aria-label": c.title }),
      make("p", { class: "note", id: `${c.name}-note`, role: "status" }),
      make("p", { class: "read", id: `${c.name}-read` }),
      c.overlay === "promise" ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Slopes" }, make("table", { id: "slopes-table" })) : null);
    section.querySelectorAll("select").forEach((select) => select.addEventListener("change", () => drawChart(c)));
    return section;
  }));
}

// The choices that this instance has; a choice of one is a word.
function offer(c, part, pairs) {
  const select = choose(c, part);
  options(select, pairs);
  select.hidden = pairs.length < 2;
  select.nextSibling.textContent = pairs.length === 1 ? pairs[0][1] : "";
}

function offerCharts() {
  const curves = instance().curves;
  const spent = (name) => curves.some((curve) => curve.costs[name].some((v) => v > 0));
  const always = ["round", "exchanges", "bytes", "loo_calls", "queries"];
  for (const c of data.charts) {
    offer(c, "y", c.up.filter((name) => curves.some((curve) => has(curve.quantities[name]))).map((name) => [name, data.quantities[name]]));
    const across = c.across.length ? c.across.filter(spent) : Object.keys(data.costs).filter((name) => always.includes(name) || spent(name));
    offer(c, "x", (across.length ? across : c.across.slice(0, 1)).map((name) => [name, c.horizons ? "the horizon" : data.costs[name]]));
    offer(c, "per", Object.entries(PER).filter(([name]) => c.per_round === null || c.per_round === (name === "round")));
  }
}

// The points of every chosen method, as {curve, points}; `low` and `high` are its lowest and highest seed.
function linesOf(c, y, x, per) {
  const curves = instance().curves.filter((curve) => state.shown.has(curve.label) && (c.horizons || curve.horizon === state.horizon));
  const methods = new Map();
  for (const curve of curves.filter((each) => has(each.quantities[y]))) methods.set(curve.label, [...(methods.get(curve.label) || []), curve]);
  return [...methods.values()].map((own) => ({
    curve: own.at(-1),
    points: own.flatMap((curve) => {
      const band = curve.quantities[y], t = curve.costs.round;
      // Agents that agree are as far apart as rounding puts them: that is no gap.
      const scaled = (v, i) => !present(v) ? null : y === "consensus_gap" && v < 1e-9 ? 0 : v / (per ? t[i] : 1);
      const points = t.map((round, i) => ({ round, x: curve.costs[x][i], y: scaled(band.mean[i], i), low: scaled(band.low[i], i), high: scaled(band.high[i], i) }));
      return (c.last ? points.slice(-1) : points).filter((p) => present(p.y));
    }),
  })).filter((line) => line.points.length > (c.horizons ? 1 : 0));
}

function drawChart(c) {
  const y = choose(c, "y").value, x = choose(c, "x").value, notes = [];
  const drawn = $(`plot-${c.name}`);
  drawn.hidden = !y;
  $(`${c.name}-read`).textContent = y ? [c.last ? "" : data.about[y], c.read].join(" ").trim() : "";
  if (!y) {
    $(`${c.name}-note`).textContent = "Neither a certificate nor a best fixed point is known here, so there is no regret to show.";
    return;
  }
  const summed = data.summed.includes(y);
  choose(c, "per").disabled = !summed;
  const per = summed && choose(c, "per").value === "round";
  const lines = linesOf(c, y, x, per);
  let all = lines.flatMap((line) => line.points);
  const negative = all.some((p) => p.low < 0);
  const logY = !negative && ["certified", "regret", "dynamic", "consensus_gap"].includes(y) && all.some((p) => p.y > 0);
  const logX = all.some((p) => p.x > 0);
  if (!state.shown.size) notes.push("No method is chosen.");
  else if (c.horizons && !all.length) notes.push(oneHorizon());
  if (negative) notes.push(y === "regret" ? "The vertical axis is linear: alpha-regret is negative where a method beats its guarantee."
    : "The vertical axis is linear, since some values are negative.");
  if (logY && all.some((p) => p.y === 0)) notes.push("Zeros are not drawn, since the vertical axis is logarithmic.");
  if (logX && x !== "round") {
    const never = lines.filter((line) => line.points.every((p) => p.x <= 0)).map((line) => line.curve.name);
    if (never.length) notes.push(`Not drawn: ${listed(never)}, with no ${data.costs[x]} at all.`);
    else if (all.some((p) => p.x <= 0)) notes.push(`Curves begin where the first ${data.costs[x]} are spent.`);
  }
  if (!c.last && lines.some((line) => line.curve.sampled)) notes.push("Single points are runs too large to measure whole: estimates from a sample, at the end alone.");
  for (const line of lines) line.points = line.points.filter((p) => (!logX || p.x > 0) && (!logY || p.y > 0));
  all = lines.flatMap((line) => line.points);

  const traces = [...c.last ? [] : lines.flatMap((line) => band(line, logY)), ...overlay(c, lines, logY), ...lines.map((line) => trace(c, line, x, per))];
  const ends = [...new Set(all.map((p) => p.x))];
  const across = logX ? { ...logAxis(ends, 0.05), ...(c.horizons ? { tickmode: "array", tickvals: ends, ticktext: ends.map(number) } : {}) } : {};
  const name = c.horizons ? "horizon T" : data.costs[x] + (x === "round" ? "" : ", average agent") + (c.last ? `, T = ${number(state.horizon)}` : "");
  const up = data.quantities[y] + (per ? " a round" : c.horizons ? ", cumulative" : "");
  draw(drawn.id, traces, layout(up, {
    xaxis: { name, ...across }, yaxis: logY ? logAxis(all.flatMap((p) => [p.low, p.high]), 0.08) : {},
  }), `${c.name}-${y}-${x}`);
  $(`${c.name}-note`).textContent = notes.join(" ");
  if (c.overlay === "promise") drawSlopes(lines);
}

function trace(c, { curve, points }, x, per) {
  const last = points.length - 1, hue = colour(curve);
  const bars = {
    type: "data", symmetric: false, array: points.map((p) => p.high - p.y), arrayminus: points.map((p) => p.y - p.low), color: hue, thickness: 1.4, width: 0,
  };
  return {
    x: points.map((p) => p.x), y: points.map((p) => p.y), mode: c.last && !c.horizons ? "markers" : "lines+markers", name: plain(curve.name), meta: curve.label,
    line: { color: hue, width: 2.2, dash: dash(curve) },
    marker: { symbol: mark(curve), color: hue, size: points.map((_, i) => (c.last ? 10 : i === last ? 9 : 0)), opacity: 1, line: { width: c.last ? 1.5 : 0, color: css("--paper") } },
    ...(c.last ? { error_y: bars } : {}),
    customdata: points.map((p) => [number(p.y), number(p.low), number(p.high), number(p.round), number(p.x)]),
    hovertemplate: `<b>%{fullData.name}</b><br>%{customdata[0]}${per ? " a round" : ""}  (seeds: %{customdata[1]} to %{customdata[2]})<br>` +
      `after %{customdata[3]} rounds${x === "round" ? "" : `, %{customdata[4]} ${data.costs[x]}`}<extra></extra>`,
  };
}

// The range over seeds, behind the lines.
function band({ curve, points }, logY) {
  const banded = points.filter((p) => !logY || p.low > 0);
  if (curve.seeds < 2 || banded.length < 2) return [];
  const back = [...banded].reverse();
  return [{
    x: [...banded, ...back].map((p) => p.x), y: [...banded.map((p) => p.high), ...back.map((p) => p.low)],
    mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faded(colour(curve), dark() ? 0.2 : 0.14), hoverinfo: "skip", name: curve.name,
  }];
}

function overlay(c, lines, logY) {
  if (c.overlay === "front") {
    const ends = lines.flatMap((line) => line.points.slice(-1));
    const front = ends.filter((p) => !ends.some((q) => q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y))).sort((a, b) => a.x - b.x);
    return [{ x: front.map((p) => p.x), y: front.map((p) => p.y), mode: "lines", line: { color: css("--soft"), width: 6 }, opacity: 0.22, hoverinfo: "skip", name: "Pareto front" }];
  }
  if (c.overlay !== "promise" || !logY) return [];
  return lines.filter((line) => line.points.length && present(slopeOf(line.curve).promised)).map(({ curve, points }) => {
    const end = points.at(-1);
    return {
      x: points.map((p) => p.x), y: points.map((p) => end.y * (p.x / end.x) ** slopeOf(curve).promised), mode: "lines",
      line: { color: colour(curve), width: 1, dash: "5px,4px" }, opacity: 0.75, hoverinfo: "skip", name: `${plain(curve.name)}, promised`,
    };
  });
}

// ---- slopes

const slopeOf = (curve) => instance().slopes.find((s) => s.label === curve.label) || {};

function oneHorizon() {
  const T = instance().horizons[0];
  return instance().horizons.length > 1 ? "None of the chosen methods was played at more than one horizon."
    : "No method was played at more than one horizon, so there is no growth to see. List more of them in the spec, as in " +
      `horizons = [${Math.ceil(T / 4)}, ${Math.ceil(T / 2)}, ${T}], and run it again: finished cells are not run twice.`;
}

function drawSlopes(lines) {
  const head = (text, kind) => make("th", { class: kind, scope: "col" }, text);
  const cell = (text) => make("td", { class: "number" }, text);
  const rows = lines.map(({ curve }) => {
    const s = slopeOf(curve);
    return make("tr", {}, make("td", {}, swatch(curve), curve.name), cell(number(s.slope)), cell(present(s.low) ? `${number(s.low)} to ${number(s.high)}` : "\u2013"),
      cell(number(s.promised)), make("td", {}, s.source || "no theorem for this"));
  });
  fill($("slopes-table"), ...rows.length ? [
    make("thead", {}, make("tr", {}, head("method"), head("slope", "number"), head("95% interval", "number"), head("promised, at most", "number"), head("by"))),
    make("tbody", {}, ...rows)] : []);
}
