{{/*
Native sidecar for the pod of a search service, with rankgauge as a dependency of its chart and
`rankgauge.mode: sidecar`. Both templates take the scope of the dependency:

  initContainers:
    {{- include "rankgauge.sidecar.container" .Subcharts.rankgauge | nindent 4 }}
  volumes:
    {{- include "rankgauge.sidecar.volumes" .Subcharts.rankgauge | nindent 4 }}

The annotation rankgauge.sidecar.annotations on the pod rolls it when the configuration changes.
*/}}
{{- define "rankgauge.sidecar.container" -}}
- restartPolicy: Always
  {{- include "rankgauge.container" . | nindent 2 }}
{{- end }}

{{- define "rankgauge.sidecar.volumes" -}}
{{ include "rankgauge.volumes" . }}
{{- end }}

{{- define "rankgauge.sidecar.annotations" -}}
checksum/rankgauge-config: {{ include "rankgauge.config" . | sha256sum }}
{{- end }}
