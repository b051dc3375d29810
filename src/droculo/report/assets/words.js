// The table, what did not run, how to reproduce it, the facts and the choice of methods.

// ---- 5. the table

const TEXT = ["method", "feedback"];
const SHARES = ["share", "share_last"];
const COLUMNS = Object.keys(data.columns).filter((name) => !["certified_low", "certified_high"].includes(name));

function drawTable() {
  const rows = instance().table.map((row, i) => ({ row, curve: instance().curves[i] }));
  if (state.sort) {
    const { name, down } = state.sort;
    rows.sort((a, b) => {
      const [u, v] = [a.row[name], b.row[name]];
      if (!present(u) || !present(v)) return present(v) - present(u); // unknown values come last in both orders
      return (TEXT.includes(name) ? u.localeCompare(v) : u - v) * (down ? -1 : 1);
    });
  }
  // Costs that few methods have: a column of zeros is left out.
  const rare = data.rare.filter((name) => !rows.some(({ row }) => row[name] > 0));
  const columns = COLUMNS.filter((name) => !rare.includes(name));
  const some = instance().seeds.length > 1;
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
    if (SHARES.includes(name)) return make("td", { class: "number" }, present(row[name]) ? `${(100 * row[name]).toPrecision(3)}%` : "\u2013");
    const differ = present(row.certified_low) && row.certified_low !== row.certified_high;
    const spread = name !== "certified" || !some ? null : make("small", {}, differ ? `${number(row.certified_low)} to ${number(row.certified_high)}` : "");
    return make("td", { class: "number" }, number(row[name]), spread);
  };
  fill($("table"), make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...rows.map(({ row, curve }) => make("tr", { "data-label": curve.label }, ...columns.map((name) => cell(name, row, curve))))));
  fill($("totals-notes"), ...instance().notes.map((note) => make("li", {}, note)));
  $("warnings").hidden = !instance().warnings.length;
  const kinds = instance().best_kinds;
  $("totals-read").textContent = "Means over agents and seeds" + (instance().seeds.length > 1 ? "; small numbers are the lowest and the highest seed" : "") +
    ". Costs are those of the average agent over all T rounds. A column's name sorts by it, again the other way round." +
    (rare.length ? ` No method made any ${rare.map((name) => data.columns[name]).join(" or ")}.` : "") +
    (kinds.includes("found") ? " The best fixed point is the best one that was found; it is not proven to be the optimum." : "") +
    (kinds.includes("given") ? " The best fixed point is the one that the problem's author gave." : "") +
    (kinds.includes("certified") ? " The best fixed point is proven to within one percent." : "");
}

// ---- 6. the rest

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
    parts.push(make("h3", {}, "Not run yet"), make("div", { class: "absent" }, make("p", {}, `droculo resume ${data.folder} runs them.`),
      make("ul", {}, ...data.missing.map((name) => make("li", {}, name)))));
  }
  $("absent").hidden = !parts.length;
  fill($("absent-list"), ...parts);
}

function drawReproduce() {
  const folder = data.folder;
  $("spec").textContent = data.spec;
  $("commands").textContent = `${data.command}\ndroculo resume ${folder}  # runs the missing cells`;
  $("reading").textContent = `import pandas\nruns = pandas.read_parquet("${folder}/runs.parquet")      # run, seed\n` +
    `points = pandas.read_parquet("${folder}/points.parquet")  # run, seed, round\n\n` +
    `# DuckDB\nselect label, horizon, avg(certified / horizon)\nfrom '${folder}/runs.parquet' group by all order by 3;`;
  const made = data.made_with;
  $("versions").textContent = made.droculo ? `Run with droculo ${made.droculo}, JAX ${made.jax}, NumPy ${made.numpy} and Python ${made.python} on ${made.platform} ` +
    `(${made.device}); the last run ended at ${String(data.played_at).replace("T", " ").replace("+00:00", " UTC")}.` : "";
}

function drawFacts() {
  const a = instance(), made = data.made_with;
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
  const at = curvesAt(), all = instance().curves;
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
  const usual = instance().shown;
  $("show-default").disabled = on.length === usual.length && usual.every((label) => state.shown.has(label));
}

// Points at one method in all plots.
function highlight(label) {
  if (label !== null && !state.shown.has(label)) return;
  for (const { name } of data.charts) {
    const plot = $(`plot-${name}`);
    if (!plot.data || !plot.data.length) continue;
    const at = plot.data.map((_, i) => i).filter((i) => plot.data[i].meta);
    if (at.length) Plotly.restyle(plot, { opacity: at.map((i) => (label === null || plot.data[i].meta === label ? 1 : 0.15)) }, at);
  }
}
