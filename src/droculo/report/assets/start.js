// All together: drawn once, and again when something is chosen.

// ---- all together

function drawPlots() {
  countMethods();
  data.charts.forEach(drawChart);
}

function drawAll() {
  drawMethods();
  drawPlots();
  drawNetwork();
  drawTable();
}

function changeInstance() {
  const a = instance();
  state.shown = new Set([...state.shown].filter((label) => labels().includes(label)));
  if (!state.shown.size) state.shown = new Set(a.shown);
  options($("horizon"), a.horizons.map((T) => [T, `T = ${number(T)}`]), a.horizons.includes(state.horizon) ? state.horizon : a.horizons.at(-1));
  state.horizon = Number($("horizon").value);
  $("horizon-field").hidden = a.horizons.length < 2;
  offerCharts();
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
  if (data.instances.length) drawAll();
}

function start() {
  const some = data.instances.length > 0;
  $("studio").hidden = $("totals").hidden = !some;
  $("nothing").hidden = some;
  drawAbsent();
  drawReproduce();
  document.querySelectorAll("[data-copies]").forEach((button) => button.addEventListener("click", () => copy($(button.dataset.copies).textContent)));
  $("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark", true));
  if (some) {
    makeCharts();
    options($("instance"), data.instances.map((a, i) => [i, `${a.problem} / ${a.network}`]));
    $("instance-field").hidden = data.instances.length < 2;
    changeInstance();
    $("instance").addEventListener("change", () => { state.instance = Number($("instance").value); state.sort = null; changeInstance(); drawAll(); });
    $("horizon").addEventListener("change", () => { state.horizon = Number($("horizon").value); drawAll(); });
    $("show-all").addEventListener("click", () => { state.shown = new Set(labels()); drawMethods(); drawPlots(); });
    $("show-default").addEventListener("click", () => { state.shown = new Set(instance().shown); drawMethods(); drawPlots(); });
    $("agent-scale").addEventListener("change", () => { state.scaled = true; drawNetwork(); });
    for (const id of ["agent-method", "agent-quantity"]) $(id).addEventListener("change", drawNetwork);
    $("time").addEventListener("input", () => { stop(); showTime(); });
    $("play").addEventListener("click", play);
    $("copy-markdown").addEventListener("click", () => copy(instance().copies.Markdown));
    $("copy-latex").addEventListener("click", () => copy(instance().copies.LaTeX));
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
