"""The dashboard of all tables: which need a person, what runs, and whether the operator keeps up."""

from dashboards.panels import Dashboard, Panel, Variable

_BY_TABLE = "max by (table_namespace, table)"
_BEHIND = f'time() - {_BY_TABLE} (hudi_operator_table_complete_up_to_timestamp_seconds{{job="$job"}})'
_TARGET = f'{_BY_TABLE} (hudi_operator_table_freshness_target_seconds{{job="$job"}})'

_STATE = (
    Panel(
        title="Tables",
        question="How many tables does the operator know?",
        queries=(('max(hudi_operator_tables{job="$job"})', "tables"),),
        kind="figure",
        width=4,
    ),
    Panel(
        title="Not ready",
        question="How many tables are not ready, except first runs that are under way?",
        queries=(('sum(hudi_operator_tables_not_ready{job="$job", ready="False"}) or vector(0)', "tables"),),
        kind="figure",
        width=4,
        bad_above=1,
    ),
    Panel(
        title="Critical findings",
        question="How many findings say that rows are missing, wrong or not ingested until a person acts?",
        queries=(('sum(hudi_operator_findings{job="$job", severity="Critical"}) or vector(0)', "findings"),),
        kind="figure",
        width=4,
        bad_above=1,
    ),
    Panel(
        title="Behind their freshness",
        question="How many tables are further behind their source than they declare?",
        queries=((f"count({_BEHIND} > on (table_namespace, table) {_TARGET}) or vector(0)", "tables"),),
        kind="figure",
        width=4,
        bad_above=1,
    ),
    Panel(
        title="Running Jobs",
        question="How many Jobs have not ended?",
        queries=(('sum(hudi_operator_jobs_active{job="$job"}) or vector(0)', "Jobs"),),
        kind="figure",
        width=4,
    ),
    Panel(
        title="Leaders",
        question="Does a process of the operator act? It has to be 1.",
        queries=(('sum(hudi_operator_leader{job="$job"})', "leaders"),),
        kind="figure",
        width=4,
    ),
)

_ATTENTION = (
    Panel(
        title="Tables that are not ready",
        question="Which tables are not ready, of which class, and why? First runs under way have the status Unknown.",
        queries=(
            (
                "max by (table_namespace, table, class, ready, reason) "
                '(hudi_operator_table_info{job="$job", ready!="True"})',
                "",
            ),
        ),
        kind="rows",
        width=12,
    ),
    Panel(
        title="Findings",
        question="Which tables have which findings?",
        queries=(('max by (table_namespace, table, severity, code) (hudi_operator_table_findings{job="$job"})', ""),),
        kind="rows",
        width=12,
    ),
    Panel(
        title="Furthest behind",
        question="Which twenty tables are furthest behind their source?",
        queries=((f"topk(20, {_BEHIND})", ""),),
        kind="rows",
        unit="s",
        width=12,
    ),
    Panel(
        title="Quarantines",
        question="Which tables have rows in their quarantine that nobody has acknowledged?",
        queries=((f'{_BY_TABLE} (hudi_operator_table_quarantined_rows{{job="$job"}}) > 0', ""),),
        kind="rows",
        width=12,
    ),
    Panel(
        title="Not ready, by reason",
        question="Since when are tables not ready, and for which reason?",
        queries=(('sum by (reason) (hudi_operator_tables_not_ready{job="$job"}) > 0', "{{reason}}"),),
        width=12,
    ),
    Panel(
        title="Findings, by code",
        question="Since when are there findings, and of which code?",
        queries=(('sum by (code) (hudi_operator_findings{job="$job"}) > 0', "{{code}}"),),
        width=12,
    ),
)

_RUNS = (
    Panel(
        title="Ended Jobs",
        question="How many Jobs end, and with which outcome?",
        queries=(
            ('sum by (outcome) (increase(hudi_operator_jobs_total{job="$job"}[$__rate_interval]))', "{{outcome}}"),
        ),
    ),
    Panel(
        title="Running Jobs, by service",
        question="Which services have Jobs?",
        queries=(('sum by (service) (hudi_operator_jobs_active{job="$job"})', "{{service}}"),),
    ),
    Panel(
        title="Delay of starts",
        question="How late does the slowest twentieth of the runs start after it was due?",
        queries=(
            (
                "histogram_quantile(0.95, sum by (le, service) "
                '(rate(hudi_operator_launch_delay_seconds_bucket{job="$job"}[$__rate_interval])))',
                "{{service}}",
            ),
        ),
        unit="s",
    ),
)

_FILES = (
    Panel(
        title="Size",
        question="How large are all tables together that have series?",
        queries=((f'sum({_BY_TABLE} (hudi_operator_table_size_bytes{{job="$job"}}))', "size"),),
        unit="bytes",
        width=6,
    ),
    Panel(
        title="Largest tables",
        question="Which twenty tables are the largest?",
        queries=((f'topk(20, {_BY_TABLE} (hudi_operator_table_size_bytes{{job="$job"}}))', ""),),
        kind="rows",
        unit="bytes",
        width=6,
    ),
    Panel(
        title="Small files",
        question="Of which twenty tables is the largest part of the files small?",
        queries=(
            (
                f'topk(20, {_BY_TABLE} (hudi_operator_table_small_files{{job="$job"}}) '
                f'/ on (table_namespace, table) ({_BY_TABLE} (hudi_operator_table_files{{job="$job"}}) > 0))',
                "",
            ),
        ),
        kind="rows",
        unit="percentunit",
        width=6,
    ),
    Panel(
        title="Log files",
        question="Which twenty tables have the most in log files that wait for compaction, by size?",
        queries=((f'topk(20, {_BY_TABLE} (hudi_operator_table_log_ratio{{job="$job"}}))', ""),),
        kind="rows",
        unit="percentunit",
        width=6,
    ),
)

_COST = (
    Panel(
        title="Core hours a day, by namespace",
        question="How many core hours did the runs of each namespace use within a day?",
        queries=(
            (
                'sum by (table_namespace) (increase(hudi_operator_run_cpu_seconds_total{job="$job"}[1d])) / 3600',
                "{{table_namespace}}",
            ),
        ),
    ),
    Panel(
        title="Core hours a day, by service",
        question="How many core hours did the runs of each service use within a day?",
        queries=(
            ('sum by (service) (increase(hudi_operator_run_cpu_seconds_total{job="$job"}[1d])) / 3600', "{{service}}"),
        ),
    ),
    Panel(
        title="Most expensive tables",
        question="Which twenty tables used the most core hours within a day?",
        queries=(
            (
                "topk(20, sum by (table_namespace, table) "
                '(increase(hudi_operator_table_run_cpu_seconds_total{job="$job"}[1d]))) / 3600',
                "",
            ),
        ),
        kind="rows",
    ),
)

_OPERATOR = (
    Panel(
        title="Queue",
        question="How long has a table waited to be reconciled?",
        queries=(('max(hudi_operator_queue_oldest_seconds{job="$job"})', "oldest"),),
        unit="s",
    ),
    Panel(
        title="Reconciles",
        question="How often are tables reconciled, and how often does that fail?",
        queries=(
            ('sum by (result) (rate(hudi_operator_reconcile_total{job="$job"}[$__rate_interval]))', "{{result}}"),
        ),
        unit="reqps",
    ),
    Panel(
        title="Reads of timelines",
        question="How often are timelines read, and how often does a store fail?",
        queries=(
            ('sum by (result) (rate(hudi_operator_timeline_reads_total{job="$job"}[$__rate_interval]))', "{{result}}"),
        ),
        unit="reqps",
    ),
    Panel(
        title="Time of reads",
        question="How long does the slowest twentieth of the reads of a timeline take?",
        queries=(
            (
                "histogram_quantile(0.95, sum by (le) "
                '(rate(hudi_operator_timeline_read_seconds_bucket{job="$job"}[$__rate_interval])))',
                "95 %",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Requests to stores",
        question="How many requests does the operator send to object stores?",
        queries=(
            (
                'sum by (operation) (rate(hudi_operator_store_requests_total{job="$job"}[$__rate_interval]))',
                "{{operation}}",
            ),
        ),
        unit="reqps",
    ),
    Panel(
        title="Tables with series",
        question="How many tables have series of their own? Above a limit only those that need attention do.",
        queries=(
            ('max(hudi_operator_tables{job="$job"})', "tables"),
            ('max(hudi_operator_tables_with_series{job="$job"})', "with series"),
        ),
    ),
)

LAKE = Dashboard(
    uid="hudi-operator-lake",
    title="Hudi operator / Lake",
    description="All tables of a Hudi operator: which need a person, what runs, and whether the operator keeps up.",
    variables=(Variable(name="job", label="Operator", query="label_values(hudi_operator_leader, job)"),),
    rows=(
        ("State", _STATE),
        ("Tables that need attention", _ATTENTION),
        ("Runs", _RUNS),
        ("Files", _FILES),
        ("Cost", _COST),
        ("Operator", _OPERATOR),
    ),
)
