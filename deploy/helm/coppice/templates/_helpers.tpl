{{- define "coppice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "coppice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "coppice.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "coppice.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "coppice.selectorLabels" -}}
app.kubernetes.io/name: {{ include "coppice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "coppice.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{ include "coppice.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "coppice.serviceAccountName" -}}
{{- if .Values.rbac.serviceAccount.create -}}
{{- default (include "coppice.fullname" .) .Values.rbac.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.rbac.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Whether the dashboard can be reached from outside the pod, and at which port: "" if not. */}}
{{- define "coppice.dashboardPort" -}}
{{- $address := .Values.dashboard.address -}}
{{- if and $address (ne $address "none") (not (regexMatch "^(127\\.[0-9.]+|localhost|\\[::1\\]):[0-9]+$" $address)) -}}
{{- regexFind "[0-9]+$" $address -}}
{{- end -}}
{{- end -}}

{{/* Mistakes that would only show at run time, refused here with what to do. */}}
{{- define "coppice.validate" -}}
{{- if not .Values.cloudProvider -}}
{{- fail "cloudProvider is empty: name the provider, such as externalgrpc or cloudscale" -}}
{{- end -}}
{{- if and (eq .Values.cloudProvider "externalgrpc") (not .Values.cloudConfigPath) (not (index .Values.extraArgs "cloud-config")) -}}
{{- fail "cloudProvider=externalgrpc needs cloudConfigPath (or extraArgs.cloud-config): where the provider is and which certificates to use" -}}
{{- end -}}
{{- if and (include "coppice.dashboardPort" .) (not .Values.dashboard.tokenSecret.name) (not .Values.dashboard.clientCA) -}}
{{- fail "dashboard.address can be reached by others: give dashboard.tokenSecret, or dashboard.tlsSecret with clientCA for mutual TLS" -}}
{{- end -}}
{{- if and .Values.dashboard.clientCA (not .Values.dashboard.tlsSecret) -}}
{{- fail "dashboard.clientCA needs dashboard.tlsSecret: mutual TLS is TLS" -}}
{{- end -}}
{{- end -}}
