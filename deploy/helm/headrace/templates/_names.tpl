{{/* All names begin with that of the release. */}}
{{- define "headrace.name" -}}
{{- if contains "headrace" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-headrace" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "headrace.labels" -}}
{{ include "headrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "headrace.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "headrace.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What the name of a broker's pod ends with, to be an address that everybody in the cluster can reach. */}}
{{- define "headrace.brokerDomain" -}}
{{ include "headrace.name" . }}-brokers.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* The address of every broker with a port, separated by commas. */}}
{{- define "headrace.brokerAddresses" -}}
{{- $name := include "headrace.name" .root }}{{- $domain := include "headrace.brokerDomain" .root }}{{- $port := .port }}
{{- range $index := until (int .root.Values.brokers.count) }}{{ if $index }},{{ end }}{{ $name }}-broker-{{ $index }}.{{ $domain }}:{{ $port }}{{ end }}
{{- end }}

{{/* A value of the file as text. Helm has numbers of a values file as floating ones, which print as 1e+06 from a million on. */}}
{{- define "headrace.setting" -}}
{{ ternary . (toJson .) (kindIs "string" .) | quote }}
{{- end }}

{{- define "headrace.podSecurity" -}}
runAsNonRoot: true
runAsUser: 9092
runAsGroup: 9092
fsGroup: 9092
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "headrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
