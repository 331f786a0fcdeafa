"""The dashboard of one table: its state, its findings, how far it is behind, its files and its cost."""

from dashboards.panels import UID_OF_TABLE, Dashboard, Panel, Variable

_HERE = 'job="$job", table_namespace="$namespace", table="$table"'


def _of(metric: str, **labels: str) -> str:
    more = "".join(f', {name}="{value}"' for name, value in labels.items())
    return f"hudi_operator_table_{metric}{{{_HERE}{more}}}"


_STATE = (
    Panel(
        title="Ready",
        question="Is the table ready? 1 is yes.",
        queries=((f"max({_of('ready')})", "ready"),),
        kind="figure",
        width=4,
    ),
    Panel(
        title="Findings",
        question="How many findings has the table?",
        queries=((f"count(max by (code) ({_of('findings')})) or vector(0)", "findings"),),
        kind="figure",
        width=4,
        bad_above=1,
    ),
    Panel(
        title="Class, reason and type",
        question="Which class has the table, of which type is it, and which reason has Ready?",
        queries=((f"max by (table_namespace, table, class, type, ready, reason) ({_of('info')})", ""),),
        kind="rows",
        width=16,
    ),
    Panel(
        title="Findings of the table",
        question="Which findings has the table, and how urgent are they?",
        queries=((f"max by (table_namespace, table, severity, code) ({_of('findings')})", ""),),
        kind="rows",
        width=12,
    ),
    Panel(
        title="Ready over time",
        question="Since when is the table not ready?",
        queries=((f"max({_of('ready')})", "ready"),),
        width=12,
    ),
)

_INPUT = (
    Panel(
        title="Behind its source",
        question="How far is the table behind its source, and how far may it be?",
        queries=(
            (f"time() - max({_of('complete_up_to_timestamp_seconds')})", "behind"),
            (f"max({_of('freshness_target_seconds')})", "declared freshness"),
        ),
        unit="s",
    ),
    Panel(
        title="Backlog in records",
        question="How many records did the newest run leave in the source?",
        queries=((f"max({_of('backlog_records')})", "records"),),
    ),
    Panel(
        title="Backlog in bytes",
        question="How many bytes did the newest run leave in the source?",
        queries=((f"max({_of('backlog_bytes')})", "bytes"),),
        unit="bytes",
    ),
    Panel(
        title="Quarantined rows",
        question="How many rows are in the quarantine that nobody has acknowledged?",
        queries=((f"max({_of('quarantined_rows')})", "rows"),),
    ),
)

_FILES = (
    Panel(
        title="Size",
        question="How large is the table, with its log files?",
        queries=((f"max({_of('size_bytes')})", "size"),),
        unit="bytes",
        width=6,
    ),
    Panel(
        title="Rows",
        question="How many rows has the table, before log files are merged?",
        queries=((f"max({_of('rows')})", "rows"),),
        width=6,
    ),
    Panel(
        title="Base files",
        question="How many base files has the table, and how many are small?",
        queries=((f"max({_of('files')})", "files"), (f"max({_of('small_files')})", "small files")),
        width=6,
    ),
    Panel(
        title="Log files",
        question="How large are the log files, compared with the base files?",
        queries=((f"max({_of('log_ratio')})", "log files"),),
        unit="percentunit",
        width=6,
    ),
)

_COST = (
    Panel(
        title="Core hours a day",
        question="How many core hours did the runs of each service use within a day?",
        queries=((f"sum by (service) (increase({_of('run_cpu_seconds_total')}[1d])) / 3600", "{{service}}"),),
    ),
    Panel(
        title="Bytes a day",
        question="How many bytes did the runs read and write within a day?",
        queries=(
            (f"sum(increase({_of('run_read_bytes_total')}[1d]))", "read"),
            (f"sum(increase({_of('run_written_bytes_total')}[1d]))", "written"),
        ),
        unit="bytes",
    ),
)

TABLE = Dashboard(
    uid=UID_OF_TABLE,
    title="Hudi operator / Table",
    description="One table of a Hudi operator: its state, its findings, how far it is behind, its files and its cost.",
    variables=(
        Variable(name="job", label="Operator", query="label_values(hudi_operator_leader, job)"),
        Variable(
            name="namespace",
            label="Namespace",
            query='label_values(hudi_operator_table_info{job="$job"}, table_namespace)',
        ),
        Variable(
            name="table",
            label="Table",
            query='label_values(hudi_operator_table_info{job="$job", table_namespace="$namespace"}, table)',
        ),
    ),
    rows=(("State", _STATE), ("Input", _INPUT), ("Files", _FILES), ("Cost", _COST)),
)
