"""The picture of the results page in the README: `python docs/site/picture.py [PAGE]`, after `make run`. Needs Chromium."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent.parent
PAGE = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "showcase" / "report.html"


def main() -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1200, "height": 1000}, color_scheme="light")
        view.goto(PAGE.absolute().as_uri())
        view.wait_for_selector(".js-plotly-plot .main-svg")
        view.wait_for_timeout(1000)  # fonts and the last redraw
        view.screenshot(path=ROOT / "docs" / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
