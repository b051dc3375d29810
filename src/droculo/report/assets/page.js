// Draws the page from the data within it. Text from the data only ever becomes text: no HTML is built from it.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const state = { arena: 0, horizon: null, shown: new Set(), sort: null, playing: null, times: [], scaled: false };

  // ---------------------------------------------------------------- small tools

  function make(tag, attributes, ...children) {
    const svg = ["svg", "line", "path"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const fill = (node, ...children) => node.replaceChildren(...children);
  const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
  const listed = (names) => names.length < 3 ? names.join(" and ") : names.slice(0, -1).join(", ") + " and " + names.at(-1);
  const present = (value) => value !== null && value !== undefined;
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  // Plotly reads a few tags in its texts.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function number(value) { // three digits; whole numbers stay whole up to a point
    if (!present(value)) return "\u2013";
    const size = Math.abs(value);
    const sign = value < 0 ? "\u2212" : "";
    if (size === 0) return "0";
    if (size >= 1e7 || size < 1e-3) {
      const [mantissa, power] = size.toExponential(2).split("e");
      const raised = String(Number(power)).replace(/./g, (c) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[c] || "\u207b");
      return `${sign}${mantissa}\u00d710${raised}`;
    }
    if (size >= 1000) return sign + Number(Number.isInteger(value) ? size : size.toPrecision(3)).toLocaleString("en");
    return sign + (Number.isInteger(value) ? size : size.toPrecision(3));
  }

  function theta(value) {
    if (!present(value)) return "\u2013";
    for (let q = 1; q <= 12; q++) {
      const p = Math.round(value * q);
      if (Math.abs(p / q - value) < 1e-5) return q === 1 ? String(p) : `${p}/${q}`;
    }
    return String(value);
  }

  function options(select, pairs, wanted) { // keeps what was chosen if it is still there
    const before = wanted !== undefined ? wanted : select.value;
    fill(select, ...pairs.map(([value, text]) => make("option", { value }, text)));
    if (pairs.some(([value]) => String(value) === String(before))) select.value = before;
  }

  // ---------------------------------------------------------------- the look

  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const dark = () => root.dataset.theme === "dark";
  const dashes = Object.keys(data.look.dashes);
  const pattern = { solid: "", dash: "6 3.5", dot: "1.5 3", dashdot: "6 3 1.5 3", longdash: "10 4", longdashdot: "9 3 1.5 3" };
  const thetas = [...new Set(data.arenas.flatMap((a) => a.curves.map((c) => c.theta)).filter(present))]
    .sort((a, b) => Math.abs(a - 0.5).toFixed(5) - Math.abs(b - 0.5).toFixed(5) || b - a);
  const colour = (curve) => {
    const palette = dark() ? data.look.dark : data.look.light;
    return palette[data.groups.indexOf(curve.group) % palette.length];
  };
  const mark = (curve) => data.look.marks[data.groups.indexOf(curve.group) % data.look.marks.length];
  const dash = (curve) => present(curve.theta) ? dashes[thetas.indexOf(curve.theta) % dashes.length] : "solid";
  const faded = (hex, alpha) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${alpha})`;
  };

  function swatch(curve) {
    const line = make("line", {
      x1: 1, x2: 25, y1: 5, y2: 5, stroke: colour(curve), "stroke-width": 2.4, "stroke-dasharray": pattern[dash(curve)] || null,
    });
    return make("svg", { width: 26, height: 10, class: "swatch", "aria-hidden": "true" }, line);
  }

  // ---------------------------------------------------------------- what is chosen

  const arena = () => data.arenas[state.arena];
  const curvesAt = () => arena().curves.filter((c) => c.horizon === state.horizon);
  const shownAt = () => curvesAt().filter((c) => state.shown.has(c.label));
  const labels = () => [...new Set(arena().curves.map((c) => c.label))];
  const has = (band) => band.mean.some(present);
  const guarantee = () => ["certified", "regret"].find((name) => arena().curves.some((c) => has(c.quantities[name])));

  // ---------------------------------------------------------------- Plotly

  const small = () => window.innerWidth < 860;
  const touch = matchMedia("(pointer: coarse)").matches;

  function layout(up, extra) {
    const ink = css("--ink"), soft = css("--soft"), grid = css("--grid"), line = css("--line");
    const axis = (more) => ({
      gridcolor: grid, zerolinecolor: line, linecolor: line, tickcolor: line, tickfont: { color: soft, size: 12 }, automargin: true,
      exponentformat: "power", fixedrange: touch, minor: { ticks: "" }, ...more,
    });
    const { xaxis, yaxis, annotations, ...rest } = extra;
    return {
      paper_bgcolor: css("--paper"), plot_bgcolor: "rgba(0,0,0,0)", font: { family: css("--sans"), color: ink, size: 13 },
      margin: { l: 44, r: 14, t: 34, b: 44 }, showlegend: false, hovermode: "closest", dragmode: touch ? false : "zoom",
      hoverlabel: { bgcolor: css("--panel"), bordercolor: line, font: { color: ink, size: 13, family: css("--sans") }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      // The name of the vertical axis stands above it, where it can be read, and takes no width.
      annotations: [{
        text: plain(up), xref: "paper", yref: "paper", x: 0, y: 1, xanchor: "left", yanchor: "bottom", showarrow: false,
        yshift: 8, xshift: -4, font: { color: soft, size: 13 },
      }, ...(annotations || [])],
      xaxis: axis({ showline: true, ...xaxis, title: { text: plain((xaxis && xaxis.name) || ""), font: { size: 13, color: soft }, standoff: 10 } }),
      yaxis: axis(yaxis),
      ...rest,
    };
  }

  function draw(id, traces, drawn, file) {
    delete drawn.xaxis.name;
    return Plotly.react($(id), traces, drawn, {
      responsive: true, displaylogo: false, doubleClick: "reset",
      modeBarButtons: [["toImage", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: file, width: 800, height: 480 },
    });
  }

  // Plotly's ticks of a logarithmic axis are either too few or too many: these are round numbers, and the range ends near the data.
  function logAxis(values, pad) {
    const known = values.filter((v) => v > 0);
    if (!known.length) return { type: "log" };
    const low = least(known), high = most(known), decades = Math.log10(high / low);
    const room = Math.max(decades * pad, 0.02), ends = [Math.log10(low) - room, Math.log10(high) + room];
    const steps = decades > (small() ? 1.6 : 3) ? [1] : decades > 1.2 ? [1, 2, 5] : decades > 0.7 ? [1, 2, 3, 5, 7]
      : decades > 0.25 ? [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8] : null;
    if (!steps) return { type: "log", range: ends, nticks: 6 };
    const every = Math.max(1, Math.ceil(decades / 7)), ticks = [];
    for (let power = Math.floor(ends[0]); power <= ends[1]; power++) {
      if (power % every === 0) for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
    }
    return { type: "log", range: ends, tickmode: "array", tickvals: ticks, ticktext: ticks.map(tick) };
  }

  function tick(value) {
    const power = Math.log10(value);
    return value >= 1e5 || value < 1e-3 ? (Number.isInteger(power) ? `10<sup>${power}</sup>` : value.toExponential(0)) : number(Number(value.toPrecision(3))).replace(/\.(\d*?)0+$/, (_, d) => (d ? "." + d : ""));
  }

  // ---------------------------------------------------------------- 1. regret

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
    $("regret-read").textContent = HOW[y] + (arena().seeds.length > 1
      ? " Lines are means over agents and seeds, bands reach from the lowest to the highest seed." : " Lines are means over agents, of one seed.");
  }

  // ---------------------------------------------------------------- 2. Pareto

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

  // ---------------------------------------------------------------- 3. growth

  function drawSlopes() {
    const one = arena().slopes.every((s) => s.horizons.length < 2);
    $("slopes").hidden = one;
    $("slopes-none").hidden = !one;
    if (one) {
      const T = arena().horizons[0];
      $("slopes-none").textContent = !arena().slopes.length
        ? "No certificate is known here, so its growth cannot be shown."
        : `No method was played at more than one horizon, so there is no growth to see. List more of them in the spec, as in ` +
          `horizons = [${Math.ceil(T / 4)}, ${Math.ceil(T / 2)}, ${T}], and run it again: what is finished is not played twice.`;
      return;
    }
    const found = arena().slopes.filter((s) => state.shown.has(s.label) && s.horizons.length > 1);
    const curve = (s) => arena().curves.find((c) => c.label === s.label);
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

  // ---------------------------------------------------------------- 4. the network

  const AGENT = { certified: "certified regret a round", regret: "alpha-regret a round", gap: "consensus gap" };
  const SCALE = [[0, "#00224e"], [0.17, "#213b6e"], [0.33, "#4c556c"], [0.5, "#6d7174"], [0.66, "#958f78"], [0.83, "#c3b369"], [1, "#fee838"]]; // cividis

  function network() {
    const curve = curvesAt().find((c) => c.label === $("agent-method").value);
    const what = $("agent-quantity").value, kept = curve.agents[what], t = curve.costs.round;
    const values = kept.map((row, i) => (what === "gap" ? row : row.map((v) => v / t[i])));
    const means = values.map((row) => row.reduce((a, b) => a + b, 0) / row.length);
    // What colours show: the values, or how far they are from the network's mean in the same round.
    const apart = what !== "gap" && $("agent-scale").value === "apart";
    const shades = apart ? values.map((row, i) => row.map((v) => v - means[i])) : values;
    const all = shades.flat(), size = Math.max(most(all.map(Math.abs)), 1e-12);
    const ends = apart ? [-size, size] : [least(all), most(all)];
    return { curve, what, values, means, t, apart, shades, ends };
  }

  const APART = [[0, "#1d63a8"], [0.25, "#86b3da"], [0.5, "#f3f1ec"], [0.75, "#eba875"], [1, "#c2560c"]];

  function readable(value, [low, high], apart) { // ink on a node of this colour
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return (apart ? share > 0.12 && share < 0.9 : share > 0.55) ? "#111111" : "#ffffff";
  }

  // Agents that are alike all share one colour on the scale of all rounds: then show what sets them apart.
  function usualScale(curve, what) {
    const values = curve.agents[what].map((row, i) => row.map((v) => v / curve.costs.round[i]));
    const span = (row) => most(row) - least(row);
    const late = values.slice(Math.floor(values.length / 2));
    return most(late.map(span)) < 0.3 * span(values.flat()) ? "apart" : "whole";
  }

  function drawNetwork() {
    stop();
    const able = curvesAt().filter((c) => c.agents && Object.keys(c.agents).length && c.agents[Object.keys(c.agents)[0]].length);
    const there = arena().places !== null && able.length > 0;
    $("network").hidden = !there;
    $("network-none").hidden = there;
    if (!there) {
      $("network-none").textContent = arena().places === null
        ? `A network of ${number(arena().agents)} agents is too large to be drawn agent by agent.`
        : "The agents of these runs were not kept one by one, since the runs are too large.";
      return;
    }
    const first = able.find((c) => state.shown.has(c.label)) || able[0];
    options($("agent-method"), able.map((c) => [c.label, c.name]), able.some((c) => c.label === $("agent-method").value) ? undefined : first.label);
    const chosen = able.find((c) => c.label === $("agent-method").value);
    options($("agent-quantity"), Object.keys(AGENT).filter((q) => chosen.agents[q]).map((q) => [q, AGENT[q]]));

    $("agent-scale").hidden = $("agent-quantity").value === "gap";
    if (!state.scaled && !$("agent-scale").hidden) $("agent-scale").value = usualScale(chosen, $("agent-quantity").value);
    const { values, what, t, means, shades, ends, apart } = network();
    const slider = $("time"), before = state.times[slider.value];
    slider.max = t.length - 1;
    const kept = t.indexOf(before);
    slider.value = kept >= 0 && state.times.length === t.length ? kept : t.length - 1;
    state.times = t;
    const places = arena().places, links = arena().links, n = places.length;
    const size = n <= 12 ? 34 : n <= 40 ? 24 : n <= 120 ? 14 : 9;
    const along = (axis) => links.flatMap(([a, b]) => [places[a][axis], places[b][axis], null]);
    const traces = [
      { x: along(0), y: along(1), mode: "lines", line: { color: css("--soft"), width: n > 120 ? 0.6 : 1.4 }, opacity: 0.45, hoverinfo: "skip" },
      {
        x: places.map((p) => p[0]), y: places.map((p) => p[1]), mode: n <= 40 ? "markers+text" : "markers",
        text: places.map((_, i) => String(i)), textfont: { size: n <= 12 ? 14 : 11 },
        marker: {
          size, color: shades.at(-1), cmin: ends[0], cmax: ends[1], colorscale: apart ? APART : SCALE, line: { color: css("--soft"), width: 1 },
          colorbar: {
            orientation: "h", thickness: 8, len: 0.8, y: -0.02, yanchor: "top", outlinewidth: 0, tickfont: { color: css("--soft"), size: 11 }, nticks: 5,
          },
        },
        hovertemplate: "agent %{text}<br>%{customdata}<extra></extra>",
      },
    ];
    const drawn = layout(AGENT[what] + (apart ? ", less the mean" : ""), {
      margin: { l: 10, r: 10, t: 34, b: 46 },
      xaxis: { visible: false, range: [-0.12, 1.12], constrain: "domain", fixedrange: true },
      yaxis: { visible: false, range: [-0.12, 1.12], scaleanchor: "x", constrain: "domain", fixedrange: true },
    });
    draw("plot-network", traces, drawn, "network");

    const lines = values[0].map((_, agent) => values.map((row) => row[agent]));
    const soft = css("--soft");
    draw("plot-agents", [
      { x: lines.flatMap(() => [...t, null]), y: lines.flatMap((l) => [...l, null]), mode: "lines", line: { color: soft, width: 1 }, opacity: 0.6, hoverinfo: "skip", name: "agents" },
      { x: t, y: means, mode: "lines", line: { color: colour(chosen), width: 2.6 }, name: "network mean", hovertemplate: "network mean %{y:.3g}<br>round %{x}<extra></extra>" },
    ], layout("every agent, and the network mean", {
      xaxis: { name: "rounds", ...logAxis(t, 0.03), fixedrange: true }, yaxis: { fixedrange: true }, shapes: [cursor(t.at(-1))],
    }), "agents");
    showTime();
  }

  const cursor = (round) => ({ type: "line", x0: round, x1: round, y0: 0, y1: 1, yref: "paper", line: { color: css("--ink"), width: 1, dash: "dot" } });

  function showTime() {
    const { values, means, t, what, curve, shades, ends, apart } = network();
    const k = Number($("time").value), row = values[k];
    const lowest = row.indexOf(least(row)), highest = row.indexOf(most(row));
    Plotly.restyle($("plot-network"), {
      "marker.color": [shades[k]], customdata: [row.map((v) => `${AGENT[what]}: ${number(v)}`)],
      "textfont.color": [shades[k].map((v) => readable(v, ends, apart))],
    }, [1]);
    Plotly.relayout($("plot-agents"), { shapes: [cursor(t[k])] });
    $("time").setAttribute("aria-valuetext", `round ${t[k]}`);
    $("time-out").textContent = `round ${number(t[k])} of ${number(t.at(-1))}`;
    $("network-read").textContent = `After round ${number(t[k])} of ${curve.name}: network mean ${number(means[k])}, lowest ` +
      `${number(row[lowest])} (agent ${lowest}), highest ${number(row[highest])} (agent ${highest}). ` +
      `The colours mean the same at all times.${arena().seeds.length > 1 ? " Numbers are means over seeds." : ""}`;
  }

  function stop() {
    if (state.playing !== null) clearInterval(state.playing);
    state.playing = null;
    $("play").textContent = "Play";
    $("play").setAttribute("aria-pressed", "false");
  }

  function play() {
    if (state.playing !== null) return stop();
    const slider = $("time");
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    $("play").textContent = "Pause";
    $("play").setAttribute("aria-pressed", "true");
    showTime();
    state.playing = setInterval(() => {
      if (Number(slider.value) >= Number(slider.max)) return stop();
      slider.value = Number(slider.value) + 1;
      showTime();
    }, 260);
  }

  // ---------------------------------------------------------------- 5. the table

  const TEXT = ["method", "feedback"];
  const COLUMNS = Object.keys(data.columns).filter((name) => !["certified_low", "certified_high"].includes(name));

  function drawTable() {
    const rows = arena().table.map((row, i) => ({ row, curve: arena().curves[i] }));
    if (state.sort) {
      const { name, down } = state.sort;
      rows.sort((a, b) => {
        const [u, v] = [a.row[name], b.row[name]];
        if (!present(u) || !present(v)) return present(v) - present(u); // what is unknown comes last, either way
        return (TEXT.includes(name) ? u.localeCompare(v) : u - v) * (down ? -1 : 1);
      });
    }
    // Projections and separations are for a few methods only: where all are zero they are not worth a column.
    const rare = ["projections", "separations"].filter((name) => !rows.some(({ row }) => row[name] > 0));
    const columns = COLUMNS.filter((name) => !rare.includes(name));
    const some = arena().seeds.length > 1;
    const heads = columns.map((name) => {
      const sorted = state.sort && state.sort.name === name ? (state.sort.down ? "descending" : "ascending") : null;
      const button = make("button", { type: "button", "data-column": name }, name === "theta" ? "\u03b8" : data.columns[name]);
      button.addEventListener("click", () => {
        state.sort = { name, down: Boolean(sorted) && !state.sort.down };
        drawTable();
        document.querySelector(`#table [data-column="${name}"]`).focus();
      });
      return make("th", { scope: "col", class: TEXT.includes(name) ? null : "number", "aria-sort": sorted }, button);
    });
    const cell = (name, row, curve) => {
      if (name === "method") return make("td", {}, swatch(curve), row.method);
      if (TEXT.includes(name)) return make("td", {}, row[name]);
      if (name === "theta") return make("td", { class: "number" }, theta(row.theta));
      if (name === "share") return make("td", { class: "number" }, present(row.share) ? `${(100 * row.share).toPrecision(3)}%` : "\u2013");
      const differ = present(row.certified_low) && row.certified_low !== row.certified_high;
      const spread = name !== "certified" || !some ? null : make("small", {}, differ ? `${number(row.certified_low)} to ${number(row.certified_high)}` : "");
      return make("td", { class: "number" }, number(row[name]), spread);
    };
    fill($("table"), make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows.map(({ row, curve }) => make("tr", { "data-label": curve.label }, ...columns.map((name) => cell(name, row, curve))))));
    const kinds = arena().best_kinds;
    $("totals-read").textContent = "Means over agents and seeds" + (arena().seeds.length > 1 ? "; small numbers are the lowest and the highest seed" : "") +
      ". Costs are those of the average agent over all T rounds. A column's name sorts by it, again the other way round." +
      (rare.length ? ` No method made any ${rare.join(" or ")}.` : "") +
      (kinds.includes("found") ? " The best fixed point is the best one that was found; it is not proven to be the optimum." : "") +
      (kinds.includes("certified") ? " The best fixed point is proven to within one percent." : "");
  }

  // ---------------------------------------------------------------- 6. the rest

  function drawAbsent() {
    const byReason = (items) => {
      const found = new Map();
      for (const { label, reason } of items) found.set(reason, [...(found.get(reason) || []), label]);
      return [...found].map(([reason, names]) => make("div", { class: "absent" }, make("p", {}, reason), make("ul", {}, ...names.map((name) => make("li", {}, name)))));
    };
    const parts = [];
    if (data.left_out.length) parts.push(make("h3", {}, "Not possible"), ...byReason(data.left_out));
    if (data.failures.length) parts.push(make("h3", {}, "Ended with an error"), ...byReason(data.failures));
    if (data.missing.length) {
      parts.push(make("h3", {}, "Not played yet"), make("div", { class: "absent" }, make("p", {}, `droculo resume ${data.folder} plays them.`),
        make("ul", {}, ...data.missing.map((name) => make("li", {}, name)))));
    }
    $("absent").hidden = !parts.length;
    fill($("absent-list"), ...parts);
  }

  function drawReproduce() {
    const folder = data.folder;
    $("spec").textContent = data.spec;
    $("commands").textContent = `${data.command}\ndroculo resume ${folder}  # plays what is missing`;
    $("reading").textContent = `import pandas\nruns = pandas.read_parquet("${folder}/runs")      # run, seed\n` +
      `points = pandas.read_parquet("${folder}/points")  # run, seed, round\n\n` +
      `# DuckDB\nselect label, horizon, avg(certified / horizon)\nfrom '${folder}/runs/*.parquet' group by all order by 3;`;
    const made = data.made_with;
    $("versions").textContent = made.droculo ? `Played with droculo ${made.droculo}, JAX ${made.jax}, NumPy ${made.numpy} and Python ${made.python} on ${made.platform} ` +
      `(${made.device}); the last run ended at ${String(data.played_at).replace("T", " ").replace("+00:00", " UTC")}.` : "";
  }

  function drawFacts() {
    const a = arena(), made = data.made_with;
    const fact = (...parts) => make("li", {}, ...parts);
    const bold = (text) => make("b", {}, text);
    fill($("facts"),
      fact("problem ", bold(a.problem)),
      fact("case ", bold(a.case), ...(present(a.alpha) ? [", \u03b1 = ", bold(number(a.alpha))] : [])),
      fact(bold(number(a.agents)), a.agents === 1 ? " agent" : " agents", ", d = ", bold(number(a.dim)), ` (${a.domain})`),
      fact("network ", bold(a.network), ", mixing rate ", bold(number(a.mixing_rate))),
      fact("T = ", bold(a.horizons.map(number).join(", "))),
      fact(bold(plural(a.seeds.length, "seed"))),
      fact(`droculo ${made.droculo}, JAX ${made.jax}`));
  }

  function drawMethods() {
    const at = curvesAt(), all = arena().curves;
    const found = new Map();
    for (const label of labels()) {
      const curve = at.find((c) => c.label === label) || all.find((c) => c.label === label);
      found.set(curve.group, [...(found.get(curve.group) || []), curve]);
    }
    const chip = (curve, text) => {
      const input = make("input", { type: "checkbox", value: curve.label, "aria-label": curve.name });
      input.checked = state.shown.has(curve.label);
      input.addEventListener("change", () => {
        state.shown[input.checked ? "add" : "delete"](curve.label);
        drawPlots();
      });
      const label = make("label", { class: "chip", title: curve.name }, input, swatch(curve), text);
      label.addEventListener("mouseenter", () => highlight(curve.label));
      label.addEventListener("mouseleave", () => highlight(null));
      return label;
    };
    const short = (curve) => {
      const rest = curve.method.split(", ").slice(1).join(", ");
      return [present(curve.theta) ? theta(curve.theta) : "", rest].filter(Boolean).join(", ") || curve.method;
    };
    const field = (title, chips) => make("fieldset", { class: "group" }, make("legend", {}, title), make("div", { class: "chips" }, ...chips));
    const alone = [...found.values()].filter((curves) => curves.length === 1 && !present(curves[0].theta)).flat();
    const fields = [...found].filter(([, curves]) => !alone.includes(curves[0])).map(([group, curves]) =>
      field(curves.every((c) => present(c.theta)) ? `${group}, \u03b8 =` : group, curves.map((c) => chip(c, short(c)))));
    if (alone.length) fields.push(field(fields.length ? "others" : "", alone.map((c) => chip(c, c.name))));
    fill($("methods"), ...fields);
    countMethods();
  }

  function countMethods() {
    const all = labels();
    const on = all.filter((label) => state.shown.has(label));
    fill($("methods-title"), "Methods ", make("span", {}, `${on.length} of ${all.length}`));
    $("show-all").disabled = on.length === all.length;
    const usual = arena().shown;
    $("show-default").disabled = on.length === usual.length && usual.every((label) => state.shown.has(label));
  }

  // Points at one method in all plots.
  function highlight(label) {
    if (label !== null && !state.shown.has(label)) return;
    for (const id of ["plot-regret", "plot-pareto", "plot-slopes"]) {
      const plot = $(id);
      if (!plot.data || !plot.data.length) continue;
      const at = plot.data.map((_, i) => i).filter((i) => plot.data[i].meta);
      if (at.length) Plotly.restyle(plot, { opacity: at.map((i) => (label === null || plot.data[i].meta === label ? 1 : 0.15)) }, at);
    }
  }

  // ---------------------------------------------------------------- all together

  function drawPlots() {
    countMethods();
    drawRegret();
    drawPareto();
    drawSlopes();
  }

  function drawAll() {
    drawMethods();
    drawPlots();
    drawNetwork();
    drawTable();
  }

  function changeArena() {
    const a = arena();
    state.shown = new Set([...state.shown].filter((label) => labels().includes(label)));
    if (!state.shown.size) state.shown = new Set(a.shown);
    options($("horizon"), a.horizons.map((T) => [T, `T = ${number(T)}`]), a.horizons.includes(state.horizon) ? state.horizon : a.horizons.at(-1));
    state.horizon = Number($("horizon").value);
    $("horizon-field").hidden = a.horizons.length < 2;
    options($("y"), Object.entries(data.quantities).filter(([name]) => a.curves.some((c) => has(c.quantities[name]))));
    const always = ["round", "exchanges", "bytes", "loo_calls", "queries"];
    const spent = Object.entries(data.costs).filter(([name]) => always.includes(name) || a.curves.some((c) => c.costs[name].some((v) => v > 0)));
    options($("x"), spent);
    const paid = ["exchanges", "bytes", "loo_calls"].filter((name) => a.curves.some((c) => c.totals[name] > 0));
    options($("cost"), (paid.length ? paid : ["exchanges"]).map((name) => [name, data.costs[name]]));
    drawFacts();
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) { // a page from a file may not have a clipboard
      const area = make("textarea", { style: "position:fixed;opacity:0" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const toast = $("toast");
    toast.textContent = "Copied";
    toast.classList.add("on");
    setTimeout(() => toast.classList.remove("on"), 1400);
  }

  function setTheme(theme, keep) {
    root.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light theme" : "Dark theme";
    if (keep) try { localStorage.setItem("droculo-theme", theme); } catch (error) { /* it holds until the page is closed */ }
    if (data.arenas.length) drawAll();
  }

  function start() {
    const some = data.arenas.length > 0;
    $("studio").hidden = $("totals").hidden = !some;
    $("nothing").hidden = some;
    drawAbsent();
    drawReproduce();
    document.querySelectorAll("[data-copies]").forEach((button) => button.addEventListener("click", () => copy($(button.dataset.copies).textContent)));
    $("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark", true));
    if (some) {
      options($("arena"), data.arenas.map((a, i) => [i, `${a.problem} / ${a.network}`]));
      $("arena-field").hidden = data.arenas.length < 2;
      changeArena();
      $("arena").addEventListener("change", () => { state.arena = Number($("arena").value); state.sort = null; changeArena(); drawAll(); });
      $("horizon").addEventListener("change", () => { state.horizon = Number($("horizon").value); drawAll(); });
      $("show-all").addEventListener("click", () => { state.shown = new Set(labels()); drawMethods(); drawPlots(); });
      $("show-default").addEventListener("click", () => { state.shown = new Set(arena().shown); drawMethods(); drawPlots(); });
      for (const id of ["x", "y", "per"]) $(id).addEventListener("change", drawRegret);
      $("cost").addEventListener("change", drawPareto);
      $("agent-scale").addEventListener("change", () => { state.scaled = true; drawNetwork(); });
      for (const id of ["agent-method", "agent-quantity"]) $(id).addEventListener("change", drawNetwork);
      $("time").addEventListener("input", () => { stop(); showTime(); });
      $("play").addEventListener("click", play);
      $("copy-markdown").addEventListener("click", () => copy(arena().copies.Markdown));
      $("copy-latex").addEventListener("click", () => copy(arena().copies.LaTeX));
    }
    setTheme(root.dataset.theme, false);
    // Paper is white.
    let before = null;
    addEventListener("beforeprint", () => { before = root.dataset.theme; if (before === "dark") setTheme("light", false); });
    addEventListener("afterprint", () => { if (before === "dark") setTheme("dark", false); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
      let chosen = null;
      try { chosen = localStorage.getItem("droculo-theme"); } catch (error) { /* then the system decides */ }
      if (!chosen) setTheme(event.matches ? "dark" : "light", false);
    });
  }

  start();
})();
