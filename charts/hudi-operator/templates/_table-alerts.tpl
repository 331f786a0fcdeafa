{{/*
Alerts that name a table. Each looks back for five minutes and joins the processes of the operator, because another process shows
the series of all tables when the leader changes.
*/}}
{{- define "hudi-operator.tableAlerts" -}}
{{- $table := "{{ $labels.table_namespace }}/{{ $labels.table }}" -}}
- alert: HudiTableNotReady
  expr: >-
    max by (table_namespace, table) (last_over_time(hudi_operator_table_ready{ {{- .here -}} }[5m])) == 0
    unless on (table_namespace, table)
    hudi_operator_table_info{ {{- .here -}} , ready="Unknown"}
    unless on (table_namespace, table)
    hudi_operator_table_info{ {{- .here -}} , reason="Maintenance"}
  for: 10m
  labels: {severity: warning}
  annotations:
    runbook_url: {{ printf "%s#huditablenotready" .runbook | quote }}
    summary: >-
      Table {{ $table }} has not been ready for ten minutes
      {{- printf "{{ with printf `hudi_operator_table_info{%s, table_namespace=%%q, table=%%q}` $labels.table_namespace $labels.table | query }}" .here }}
      {{- ", with the reason {{ . | first | label `reason` }}{{ end }}" }}.
- alert: HudiTableFindingCritical
  expr: >-
    max by (table_namespace, table, code)
    (last_over_time(hudi_operator_table_findings{ {{- .here -}} , severity="Critical"}[5m])) > 0
  for: 5m
  labels: {severity: critical}
  annotations:
    runbook_url: {{ printf "%s#huditablefindingcritical" .runbook | quote }}
    summary: >-
      Table {{ $table }} has the finding {{ "{{ $labels.code }}" }}: rows are missing, wrong or not ingested until a person acts.
      Its status.findings has the evidence and the remedy.
- alert: HudiTableBehind
  expr: >-
    time() - max by (table_namespace, table)
    (last_over_time(hudi_operator_table_complete_up_to_timestamp_seconds{ {{- .here -}} }[5m]))
    > on (table_namespace, table)
    max by (table_namespace, table) (hudi_operator_table_freshness_target_seconds{ {{- .here -}} })
  for: 5m
  labels: {severity: warning}
  annotations:
    runbook_url: {{ printf "%s#huditablebehind" .runbook | quote }}
    summary: >-
      Table {{ $table }} is further behind its source than spec.ingestion.freshness asks. Its condition Fresh says what it waits for.
- alert: HudiTableFreshnessUnknown
  expr: >-
    max by (table_namespace, table) (last_over_time(hudi_operator_table_freshness_target_seconds{ {{- .here -}} }[5m]))
    unless on (table_namespace, table)
    last_over_time(hudi_operator_table_complete_up_to_timestamp_seconds{ {{- .here -}} }[5m])
  for: 1h
  labels: {severity: warning}
  annotations:
    runbook_url: {{ printf "%s#huditablefreshnessunknown" .runbook | quote }}
    summary: >-
      No run has reported for an hour how far table {{ $table }} is behind its source, as where none has succeeded yet. Its condition
      Fresh says what it waits for.
- alert: HudiTableQuarantineGrows
  expr: >-
    max by (table_namespace, table) (hudi_operator_table_quarantined_rows{ {{- .here -}} })
    > on (table_namespace, table)
    min by (table_namespace, table) (min_over_time(hudi_operator_table_quarantined_rows{ {{- .here -}} }[1h]))
    or on (table_namespace, table) (
    max by (table_namespace, table) (hudi_operator_table_quarantined_rows{ {{- .here -}} }) > 0
    unless on (table_namespace, table)
    last_over_time(hudi_operator_table_quarantined_rows{ {{- .here -}} }[1h] offset 1h))
  labels: {severity: warning}
  annotations:
    runbook_url: {{ printf "%s#huditablequarantinegrows" .runbook | quote }}
    summary: >-
      Rows of table {{ $table }} have come to its quarantine within an hour; it holds {{ "{{ $value }}" }} rows that nobody has
      acknowledged.
- alert: HudiTableCostGrows
  expr: >-
    sum by (table_namespace, table) (increase(hudi_operator_table_run_cpu_seconds_total{ {{- .here -}} }[1d])) > 3600
    and on (table_namespace, table)
    sum by (table_namespace, table) (increase(hudi_operator_table_run_cpu_seconds_total{ {{- .here -}} }[1d]))
    > 2 / 7 * sum by (table_namespace, table)
    (increase(hudi_operator_table_run_cpu_seconds_total{ {{- .here -}} }[7d] offset 1d))
    and on (table_namespace, table)
    last_over_time(hudi_operator_table_ready{ {{- .here -}} }[1d] offset 7d)
  for: 1h
  labels: {severity: warning}
  annotations:
    runbook_url: {{ printf "%s#huditablecostgrows" .runbook | quote }}
    summary: >-
      Runs of table {{ $table }} have used {{ "{{ $value | humanizeDuration }}" }} of processor time within a day, more than twice their mean of
      the week before.
{{- end }}
