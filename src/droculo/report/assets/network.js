// The agents, coloured, over time.

// ---- 4. the network

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
  const there = instance().places !== null && able.length > 0;
  $("network").hidden = !there;
  $("network-none").hidden = there;
  if (!there) {
    $("network-none").textContent = instance().places === null
      ? `A network of ${number(instance().agents)} agents is too large to be drawn agent by agent.`
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
  const places = instance().places, links = instance().links, n = places.length;
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
    `The colours mean the same at all times.${instance().seeds.length > 1 ? " Numbers are means over seeds." : ""}`;
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
