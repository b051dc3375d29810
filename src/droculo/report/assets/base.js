// Tools, colours and the current choice. Text from the data only ever becomes text: no HTML is built from it.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const root = document.documentElement;
const state = { instance: 0, horizon: null, shown: new Set(), sort: null, playing: null, times: [], scaled: false };

// ---- small tools

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

// ---- the look

const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const dark = () => root.dataset.theme === "dark";
const dashes = Object.keys(data.look.dashes);
const pattern = { solid: "", dash: "6 3.5", dot: "1.5 3", dashdot: "6 3 1.5 3", longdash: "10 4", longdashdot: "9 3 1.5 3" };
const thetas = [...new Set(data.instances.flatMap((a) => a.curves.map((c) => c.theta)).filter(present))]
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

// ---- the current choice

const instance = () => data.instances[state.instance];
const curvesAt = () => instance().curves.filter((c) => c.horizon === state.horizon);
const shownAt = () => curvesAt().filter((c) => state.shown.has(c.label));
const labels = () => [...new Set(instance().curves.map((c) => c.label))];
const has = (band) => band.mean.some(present);

// ---- Plotly

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
