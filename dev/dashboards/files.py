"""Returns the dashboards as files of the chart, and lists their panels on pages."""

import re
from pathlib import Path

from dashboards.lake import LAKE
from dashboards.panels import Dashboard
from dashboards.table import TABLE

FOLDER = Path("charts/hudi-operator/dashboards")

DASHBOARDS: dict[str, Dashboard] = {"lake": LAKE, "table": TABLE}

_BLOCK = re.compile(r"(<!-- panels of (\w+) -->\n).*?(<!-- end of panels -->)", re.DOTALL)


def dashboard_files() -> dict[Path, str]:
    """Return the content of each dashboard's file, by path relative to the root of the source tree."""
    return {FOLDER / f"{name}.json": one.json() for name, one in DASHBOARDS.items()}


def with_panel_lists(page: str) -> str:
    """Return a page with its lists of panels replaced; raise KeyError for an unknown dashboard."""
    return _BLOCK.sub(lambda match: f"{match[1]}\n{_panel_list(DASHBOARDS[match[2]])}\n{match[3]}", page)


def _panel_list(shown: Dashboard) -> str:
    return "".join(f"- **{panel.title}**: {panel.question}\n" for panel in shown.panels)
