{{- define "coppice-provider.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "coppice-provider.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "coppice-provider.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "coppice-provider.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "coppice-provider.selectorLabels" -}}
app.kubernetes.io/name: {{ include "coppice-provider.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "coppice-provider.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{ include "coppice-provider.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "coppice-provider.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "coppice-provider.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "coppice-provider.apiSecret" -}}
{{- .Values.cloudscaleAPI.existingSecret | default (printf "%s-api" (include "coppice-provider.fullname" .)) -}}
{{- end -}}

{{- define "coppice-provider.machineconfigSecret" -}}
{{- .Values.machineconfig.existingSecret | default (printf "%s-machineconfig" (include "coppice-provider.fullname" .)) -}}
{{- end -}}

{{/* Mistakes that would only show at run time, refused here with what to do. */}}
{{- define "coppice-provider.validate" -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- fail "replicaCount must be 0 or 1: two providers would order machines twice, and there is no leader election between them yet" -}}
{{- end -}}
{{- if and (not .Values.cloudscaleAPI.existingSecret) (not .Values.cloudscaleAPI.token) -}}
{{- fail "set cloudscaleAPI.existingSecret (a Secret with the key token) or cloudscaleAPI.token" -}}
{{- end -}}
{{- if not .Values.config.nodeGroups -}}
{{- fail "config.nodeGroups is empty: describe at least one node group" -}}
{{- end -}}
{{- if and .Values.machineconfig.enabled (not .Values.machineconfig.existingSecret) (not .Values.machineconfig.content) -}}
{{- fail "machineconfig.enabled needs machineconfig.existingSecret or machineconfig.content" -}}
{{- end -}}
{{- if not .Values.tls.enabled -}}
{{- fail "tls.enabled=false is not supported: the gRPC port orders and deletes machines, so it is served over mutual TLS only" -}}
{{- end -}}
{{- end -}}
