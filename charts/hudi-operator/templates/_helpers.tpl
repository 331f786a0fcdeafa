{{- define "hudi-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "hudi-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "hudi-operator.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hudi-operator.serviceAccountName" -}}
{{- default (include "hudi-operator.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "hudi-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "hudi-operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "hudi-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: hudi-operator
{{ include "hudi-operator.selectorLabels" . }}
{{- end -}}

{{- /* The tenants by name, as JSON: an entry is a name, or a name with what the chart makes for it. */ -}}
{{- define "hudi-operator.tenants" -}}
{{- $tenants := dict -}}
{{- range .Values.tenants -}}
{{- if kindIs "string" . -}}
{{- $_ := set $tenants . (mergeOverwrite (dict "name" .) (get $tenants . | default dict)) -}}
{{- else -}}
{{- $_ := set $tenants .name . -}}
{{- end -}}
{{- end -}}
{{- toJson $tenants -}}
{{- end -}}
