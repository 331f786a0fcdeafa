"""Builds panels and dashboards from a title, the question that it answers, and expressions of Prometheus."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG = "hudi-operator"
UID_OF_TABLE = "hudi-operator-table"

Query = tuple[str, str]
"""An expression, and the legend of its lines."""

_TO_TABLE = (
    f"/d/{UID_OF_TABLE}?var-namespace=${{__data.fields.table_namespace}}&var-table=${{__data.fields.table}}"
    "&${job:queryparam}&${datasource:queryparam}"
)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel; `question` is what it answers, in words that the documentation shows too."""

    title: str
    question: str
    queries: tuple[Query, ...]
    kind: str = "lines"
    unit: str = "short"
    width: int = 8
    bad_above: float | None = None

    def build(self) -> Builder[dashboard.Panel]:
        """Return the panel for Grafana."""
        return {"lines": self._lines, "figure": self._figure, "rows": self._rows}[self.kind]()

    def _lines(self) -> Builder[dashboard.Panel]:
        panel = timeseries.Panel().title(self.title).description(self.question).datasource(SOURCE)
        for number, (expression, legend) in enumerate(self.queries):
            panel = panel.with_target(_query(expression, number).range().legend_format(legend))
        return panel.unit(self.unit).min(0).height(8).span(self.width)

    def _figure(self) -> Builder[dashboard.Panel]:
        ((expression, legend),) = self.queries
        steps = [dashboard.Threshold(value=None, color="green")]
        if self.bad_above is not None:
            steps.append(dashboard.Threshold(value=self.bad_above, color="red"))
        return (
            stat.Panel()
            .title(self.title)
            .description(self.question)
            .datasource(SOURCE)
            .with_target(_query(expression, 0).instant().legend_format(legend))
            .unit(self.unit)
            .thresholds(build.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps))
            .height(4)
            .span(self.width)
        )

    def _rows(self) -> Builder[dashboard.Panel]:
        ((expression, _),) = self.queries
        hidden = {"excludeByName": {"Time": True}}
        return (
            table.Panel()
            .title(self.title)
            .description(self.question)
            .datasource(SOURCE)
            .with_target(_query(expression, 0).instant().format(PromQueryFormat.TABLE))
            .with_transformation(dashboard.DataTransformerConfig(id_val="organize", options=hidden))
            .unit(self.unit)
            .data_links([build.DashboardLink("Show the table").url(_TO_TABLE)])
            .height(8)
            .span(self.width)
        )


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A choice at the top of a dashboard: the values that a label has."""

    name: str
    label: str
    query: str


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A dashboard: rows of panels, by the title of the row."""

    uid: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]

    @property
    def panels(self) -> Sequence[Panel]:
        """Return all panels."""
        return [panel for _, panels in self.rows for panel in panels]

    def json(self) -> str:
        """Return the dashboard as the file that Grafana loads."""
        made = (
            build.Dashboard(self.title)
            .uid(self.uid)
            .description(self.description)
            .tags([TAG])
            .readonly()
            .timezone("browser")
            .time("now-6h", "now")
            .refresh("1m")
            .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
            .with_variable(build.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        )
        for one in self.variables:
            choice = build.QueryVariable(one.name).label(one.label).datasource(SOURCE).query(one.query)
            refresh, order = dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED, dashboard.VariableSort.ALPHABETICAL_ASC
            made = made.with_variable(choice.refresh(refresh).sort(order))
        for title, panels in self.rows:
            made = made.with_row(build.Row(title))
            for panel in panels:
                made = made.with_panel(panel.build())
        return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _query(expression: str, number: int) -> prometheus.Dataquery:
    return prometheus.Dataquery().datasource(SOURCE).expr(expression).ref_id(chr(ord("A") + number))
