"""The page in a real browser: it draws everything, its controls work, and it asks nothing of a network."""

import os
import shutil

import pytest
from tests.report.sweeps import METHODS, small_sweep

from droculo.report import write_page
from droculo.report.interactive import page_data, render

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested with Playwright, which is not installed"
)
CHROMIUM = os.environ.get("DROCULO_CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium: install Debian's, or set DROCULO_CHROMIUM to its path"
)

PLOTS = ("plot-regret", "plot-pareto", "plot-growth", "plot-network", "plot-agents")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_page(small_sweep("Three </script> methods"), tmp_path_factory.mktemp("page"))


@pytest.fixture
def opened(browser, file):
    """Opens the page at a width; at the end, nothing may have been said on the console and nothing asked for."""
    complaints, contexts = [], []

    def open_at(width, height, file=file, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requested(request.url, file.as_uri()))
        page.goto(file.as_uri())
        page.locator("#plot-regret .main-svg").first.wait_for()
        return page

    def requested(url, expected):
        if url != expected and not url.startswith(("data:", "blob:")):
            complaints.append(f"asked for {url}")

    yield open_at
    for context in contexts:
        context.close()
    assert complaints == []


def little():
    """The data of one horizon and one seed, without certificate, best fixed point, theta, links or agents kept one by one."""
    data = page_data(small_sweep(networks=("ring",)))
    instance = data["instances"][0]
    instance.update(horizons=[64], seeds=[0], links=None, places=None, slopes=[], alpha=None, best_kinds=[])
    kept = [place for place, curve in enumerate(instance["curves"]) if curve["horizon"] == 64]
    instance["curves"], instance["table"] = ([instance[part][place] for place in kept] for part in ("curves", "table"))
    for curve, row in zip(instance["curves"], instance["table"], strict=True):
        curve.update(
            seeds=1, sampled=True, agents=None, costs={name: each[-1:] for name, each in curve["costs"].items()}
        )
        for name, band in curve["quantities"].items():
            known = name in ("reward", "consensus_gap")
            curve["quantities"][name] = {part: band[part][-1:] if known else [None] for part in band}
        row.update(certified=None, certified_low=None, certified_high=None, regret=None, share=None)
    return data


def plotted(page, plot):
    """The points of every trace."""
    return page.evaluate("id => document.getElementById(id).data.map(t => [Array.from(t.x), Array.from(t.y)])", plot)


def lines(page, plot):
    """By label, the points of every method."""
    code = "id => document.getElementById(id).data.filter(t => t.meta).map(t => [t.meta, [Array.from(t.x), Array.from(t.y)]])"
    return dict(page.evaluate(code, plot))


def test_every_plot_has_data_and_every_chooser_changes_it(opened):
    page = opened(1280, 900)
    assert page.title() == page.inner_text("h1") == "Three </script> methods"
    for plot in PLOTS:
        traces = plotted(page, plot)
        assert traces, plot
        assert all(len(x) == len(y) > 0 for x, y in traces), plot
    # The mean over seeds is 2 (method + 1) T^(1/2); the page shows it per round.
    x, y = lines(page, "plot-regret")[METHODS[0][1]]
    assert (x, y) == ([1, 64, 128, 256], pytest.approx([2, 0.25, 2 * 128**-0.5, 0.125], rel=1e-5))
    page.select_option("#regret-per", "total")
    assert lines(page, "plot-regret")[METHODS[0][1]][1] == pytest.approx([2, 16, 2 * 128**0.5, 32], rel=1e-5)
    page.select_option("#regret-x", "exchanges")
    assert lines(page, "plot-regret")[METHODS[0][1]][0] == pytest.approx([16 / 256, 4, 8, 16])
    page.select_option("#regret-x", "loo_calls")
    assert METHODS[2][1] not in {label for label, (x, _) in lines(page, "plot-regret").items() if x}
    assert "Not drawn: dobga" in page.inner_text("#regret-note")
    page.select_option("#regret-y", "regret")
    assert "linear: alpha-regret is negative" in page.inner_text("#regret-note")
    page.select_option("#regret-y", "share")
    assert lines(page, "plot-regret")[METHODS[0][1]][1] == pytest.approx([0.8] * 4)
    assert page.is_disabled("#regret-per")

    assert lines(page, "plot-pareto")[METHODS[0][1]] == [[16], [0.125]]
    assert plotted(page, "plot-pareto")[0] == [[16], [0.125]]  # the first method beats both others
    page.select_option("#pareto-x", "bytes")
    assert lines(page, "plot-pareto")[METHODS[0][1]] == [[20480], [0.125]]
    page.select_option("#horizon", "64")
    assert lines(page, "plot-pareto")[METHODS[0][1]] == [[5120], [0.25]]
    assert lines(page, "plot-growth")[METHODS[0][1]] == [[64, 256], [16, 32]]
    promised = plotted(page, "plot-growth")[0]  # through the last point, with slope 3/4
    assert promised[1] == pytest.approx([32 / 4**0.75, 32], rel=1e-5)
    assert "0.500" in page.inner_text("#slopes-table")

    page.uncheck(f'#methods input[value="{METHODS[2][1]}"]', force=True)
    assert METHODS[2][1] not in lines(page, "plot-regret")
    page.click("#show-all")
    assert set(lines(page, "plot-regret")) == {label for _, label, _ in METHODS}
    page.select_option("#instance", "1")
    assert "complete" in page.inner_text("#facts")
    assert len(plotted(page, "plot-network")[0][0]) == 3 * 6  # both ends and a gap for each of six links


def test_the_slider_shows_the_agents_over_time(opened):
    page = opened(1280, 900)
    colours = "Array.from(document.getElementById('plot-network').data[1].marker.color)"
    ends = "(({cmin, cmax}) => [cmin, cmax])(document.getElementById('plot-network').data[1].marker)"
    page.select_option("#agent-quantity", "certified")
    page.select_option("#agent-scale", "whole")
    last, scale = page.evaluate(colours), page.evaluate(ends)
    assert last == pytest.approx([(32 + 16 * agent) / 256 for agent in range(4)], rel=1e-5)
    page.locator("#time").focus()
    page.keyboard.press("Home")
    assert page.evaluate(colours) == pytest.approx([2, 3, 4, 5])
    assert page.evaluate(ends) == scale == [last[0], 5]  # the scale is that of all times
    assert "round 1 of 256" in page.inner_text("#time-out")
    assert "network mean 3.50" in page.inner_text("#network-read")
    page.select_option("#agent-scale", "apart")
    assert page.evaluate(colours) == pytest.approx([-1.5, -0.5, 0.5, 1.5])
    page.select_option("#agent-quantity", "gap")
    assert page.evaluate(colours) == [0, 1, 2, 3]
    page.click("#play")
    playwright.expect(page.locator("#time")).to_have_value("3")
    playwright.expect(page.locator("#play")).to_have_text("Play")
    assert page.evaluate(colours) == pytest.approx([0, 1 / 256, 2 / 256, 3 / 256], rel=1e-5)


def test_the_table_sorts_and_can_be_copied(opened):
    page = opened(1280, 900, permissions=["clipboard-read", "clipboard-write"])
    head = page.locator('#table button[data-column="certified"]')
    column = "Array.from(document.querySelectorAll('#table tbody tr'), r => parseFloat(r.cells[4].textContent))"
    before = page.evaluate(column)
    assert before == [0.25, 0.125, 0.5, 0.25, 0.75, 0.375]
    for order in ("ascending", "descending"):
        head.click()
        assert page.evaluate(column) == sorted(before, reverse=order == "descending")
        assert page.locator("#table th[aria-sort]").get_attribute("aria-sort") == order
    page.click('#table button[data-column="method"]')
    methods = page.locator("#table tbody tr td:first-child").all_inner_texts()
    assert methods == ["dobga"] * 2 + ["droculo"] * 4
    page.click("#copy-latex")
    playwright.expect(page.locator("#toast")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("\\begin{tabular}")
    assert "an error, for once" in page.inner_text("#absent")
    assert "droculo resume results/small" in page.inner_text("#commands")
    with page.expect_download() as saved:
        page.hover("#plot-regret")
        page.click('#plot-regret [data-title*="Download"]')
    assert saved.value.suggested_filename == "regret-certified-round.svg"
    assert b"<svg" in saved.value.path().read_bytes()[:200]


def test_a_phone_and_the_dark(opened):
    page = opened(390, 844, has_touch=True, is_mobile=True, color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "document.getElementById('plot-regret').layout.font.color"
    before = page.evaluate(paper), page.evaluate(ink)
    page.click("#theme")
    after = page.evaluate(paper), page.evaluate(ink)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert before[0] != after[0]
    assert before[1] != after[1]
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"  # it is kept
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for plot in PLOTS:
        assert page.locator(f"#{plot} .main-svg").first.bounding_box()["width"] <= 390
    box = page.locator("#totals .scroll")
    assert box.evaluate("node => node.scrollWidth > node.clientWidth")  # the table scrolls within its box


def test_a_page_says_what_it_cannot_show(opened, tmp_path):
    file = tmp_path / "little.html"
    file.write_text(render(little()), encoding="utf-8")
    page = opened(1280, 900, file=file)
    assert [option.get_attribute("value") for option in page.locator("#regret-y option").all()] == [
        "reward",
        "consensus_gap",
    ]
    assert plotted(page, "plot-regret") == [[[64], [2]]] * 3
    assert "estimates from a sample" in page.inner_text("#regret-note")
    assert "there is no regret to show" in page.inner_text("#pareto-note")
    assert "there is no regret to show" in page.inner_text("#growth-note")
    assert "too large to be drawn" in page.inner_text("#network-none")
    assert not page.is_visible("#network")
    assert not page.is_visible("#instance-field")
