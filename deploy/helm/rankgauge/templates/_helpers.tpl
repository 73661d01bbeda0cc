{{/* Name of every object. */}}
{{- define "rankgauge.fullname" -}}
{{- $name := "" -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- end -}}
{{- $name = $name | trunc 52 | trimSuffix "-" -}}
{{- if not (contains "rankgauge" $name) -}}
{{- fail (printf "the name %q has to contain \"rankgauge\", because the alerts identify the scrape job by it; set fullnameOverride" $name) -}}
{{- end -}}
{{- $name -}}
{{- end }}

{{/* Labels that select the pods. They cannot change. */}}
{{- define "rankgauge.selector" -}}
app.kubernetes.io/name: rankgauge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rankgauge.labels" -}}
{{ include "rankgauge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rankgauge.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "rankgauge.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "rankgauge.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{/* Configuration file: the values of config, the folders of the chart, and a consumer group of the release. */}}
{{- define "rankgauge.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $kafka := deepCopy (get $config "kafka" | default dict) -}}
{{- if not $kafka.group_id -}}
{{- $_ := set $kafka "group_id" (printf "%s.%s" .Release.Namespace (include "rankgauge.fullname" .)) -}}
{{- end -}}
{{- $_ := set $config "kafka" $kafka -}}
{{- if .Values.checkpoint.enabled -}}
{{- $checkpoint := deepCopy (get $config "checkpoint" | default dict) -}}
{{- if not $checkpoint.folder -}}
{{- $_ := set $checkpoint "folder" "/var/lib/rankgauge" -}}
{{- end -}}
{{- $_ := set $config "checkpoint" $checkpoint -}}
{{- end -}}
{{- if include "rankgauge.hasGold" . -}}
{{- $gold := deepCopy (get $config "gold" | default dict) -}}
{{- if not $gold.paths -}}
{{- $_ := set $gold "paths" (list "/etc/rankgauge/gold") -}}
{{- end -}}
{{- $_ := set $config "gold" $gold -}}
{{- end -}}
{{- if include "rankgauge.hasAdminService" . -}}
{{- $admin := deepCopy (get $config "admin" | default dict) -}}
{{- $_ := set $admin "listen" (printf "0.0.0.0:%s" (include "rankgauge.adminPort" .)) -}}
{{- $_ := set $config "admin" $admin -}}
{{- end -}}
{{- if .Values.gateway.enabled -}}
{{- $gateway := deepCopy (get $config "gateway" | default dict) -}}
{{- $address := ternary "127.0.0.1" "0.0.0.0" (eq .Values.mode "sidecar") -}}
{{- $_ := set $gateway "listen" (printf "%s:%d" $address (int64 .Values.gateway.port)) -}}
{{- if and .Values.gateway.existingTokensSecret (not $gateway.tokens_file) -}}
{{- $_ := set $gateway "tokens_file" "/etc/rankgauge/tokens/tokens.yaml" -}}
{{- end -}}
{{- $_ := set $config "gateway" $gateway -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* Port of the metrics listener. */}}
{{- define "rankgauge.port" -}}
{{- $metrics := get .Values.config "metrics" | default dict -}}
{{- $listen := get $metrics "listen" | default "0.0.0.0:9468" -}}
{{- splitList ":" $listen | last -}}
{{- end }}

{{/* Port of the admin listener. */}}
{{- define "rankgauge.adminPort" -}}
{{- $admin := get .Values.config "admin" | default dict -}}
{{- $listen := get $admin "listen" | default "127.0.0.1:9469" -}}
{{- splitList ":" $listen | last -}}
{{- end }}

{{/* "true" if the admin listener has a Service. It may have one only if the configuration protects the listener. */}}
{{- define "rankgauge.hasAdminService" -}}
{{- if .Values.service.enabled -}}
{{- if ne .Values.mode "standalone" -}}
{{- fail "service.enabled needs mode: standalone; in the sidecar mode, the chart of the search service has the Service" -}}
{{- end -}}
{{- $admin := get .Values.config "admin" | default dict -}}
{{- if eq (get $admin "listen" | default "") "none" -}}
{{- fail "service.enabled needs the admin listener; remove config.admin.listen: none" -}}
{{- end -}}
{{- if not (or $admin.web_config_file $admin.allow_unauthenticated) -}}
{{- fail "service.enabled opens the admin listener, which shows query texts and accepts commands, to the cluster: set config.admin.web_config_file to a file with TLS and authentication (web.existingSecret), or config.admin.allow_unauthenticated: true" -}}
{{- end -}}
true
{{- end -}}
{{- end }}

{{/* Mebibytes of a size with the unit KiB, MiB or GiB. */}}
{{- define "rankgauge.mebibytes" -}}
{{- $size := . | toString -}}
{{- if hasSuffix "GiB" $size -}}
{{ mul 1024 (trimSuffix "GiB" $size | trim | int64) }}
{{- else if hasSuffix "MiB" $size -}}
{{ trimSuffix "MiB" $size | trim | int64 }}
{{- else if hasSuffix "KiB" $size -}}
{{ div (add 1023 (trimSuffix "KiB" $size | trim | int64)) 1024 }}
{{- else -}}
{{- fail (printf "config.engine.memory, config.gateway.memory: %q is not a whole number with KiB, MiB or GiB" $size) -}}
{{- end -}}
{{- end }}

{{/* Memory of the process: workers x (engine.memory + 128 MiB of a forwarder) + 100 MiB + the gold set +
gateway.memory (docs/operations.md). */}}
{{- define "rankgauge.memory" -}}
{{- $engine := get .Values.config "engine" | default dict -}}
{{- $budget := include "rankgauge.mebibytes" (get $engine "memory" | default "256MiB") | int64 -}}
{{- $workers := get .Values.config "workers" | default 1 | int64 -}}
{{- $kafka := get .Values.config "kafka" | default dict -}}
{{- $forwarder := ternary 128 0 (eq (get $kafka "join" | default "partition") "repartition") -}}
{{- $gateway := 0 -}}
{{- if .Values.gateway.enabled -}}
{{- $settings := get .Values.config "gateway" | default dict -}}
{{- $gateway = include "rankgauge.mebibytes" (get $settings "memory" | default "64MiB") | int64 -}}
{{- end -}}
{{- printf "%dMi" (add (mul $workers (add $budget $forwarder)) 100 (int64 .Values.resources.goldMebibytes) $gateway) -}}
{{- end }}

{{- define "rankgauge.resources" -}}
{{- $memory := dict "memory" (include "rankgauge.memory" .) -}}
{{- $storage := dict "ephemeral-storage" "64Mi" -}}
requests:
  {{- mergeOverwrite (deepCopy $memory) $storage (.Values.resources.requests | default dict) | toYaml | nindent 2 }}
limits:
  {{- $limit := dict "ephemeral-storage" (ternary .Values.checkpoint.size "64Mi" (eq (include "rankgauge.checkpointVolume" .) "emptyDir")) }}
  {{- mergeOverwrite (deepCopy $memory) $limit (.Values.resources.limits | default dict) | toYaml | nindent 2 }}
{{- end }}

{{/* Volume of the checkpoints: none, claim or emptyDir. */}}
{{- define "rankgauge.checkpointVolume" -}}
{{- if not .Values.checkpoint.enabled -}}
none
{{- else if and (eq .Values.mode "standalone") (eq .Values.workload.kind "StatefulSet") -}}
claim
{{- else -}}
emptyDir
{{- end -}}
{{- end }}

{{/* Hash of the Secrets that the pods read, so that a release after a change restarts them. Empty where the cluster
cannot be asked (helm template). */}}
{{- define "rankgauge.secrets" -}}
{{- $names := list .Values.web.existingSecret -}}
{{- range .Values.env -}}
{{- $names = append $names (dig "valueFrom" "secretKeyRef" "name" "" .) -}}
{{- end -}}
{{- range .Values.envFrom -}}
{{- $names = append $names (dig "secretRef" "name" "" .) -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- $names = append $names (dig "secret" "secretName" "" .) -}}
{{- end -}}
{{- $found := list -}}
{{- range $name := $names | compact | uniq | sortAlpha -}}
{{- with lookup "v1" "Secret" $.Release.Namespace $name -}}
{{- $found = append $found (dict "name" $name "data" .data) -}}
{{- end -}}
{{- end -}}
{{- with $found }}{{ toJson . | sha256sum }}{{ end -}}
{{- end }}

{{- define "rankgauge.hasGold" -}}
{{- if or .Values.gold.files .Values.gold.existingConfigMap .Values.gold.existingSecret .Values.gold.existingClaim }}true{{ end -}}
{{- end }}

{{- define "rankgauge.env" -}}
{{- if and (eq .Values.mode "standalone") (eq .Values.workload.kind "StatefulSet") }}
# Static membership: a restarted replica gets its partitions back at once. Pods of two namespaces can have the same name.
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: RANKGAUGE__KAFKA__PROPERTIES__GROUP_INSTANCE_ID
  value: $(POD_NAMESPACE).$(POD_NAME)
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rankgauge.mounts" -}}
# Mount directories. A subPath mount is not updated when the ConfigMap changes.
- name: rankgauge-config
  mountPath: /etc/rankgauge/config
  readOnly: true
{{- if include "rankgauge.hasGold" . }}
- name: rankgauge-gold
  mountPath: /etc/rankgauge/gold
  readOnly: true
{{- end }}
{{- if .Values.web.existingSecret }}
- name: rankgauge-web
  mountPath: /etc/rankgauge/web
  readOnly: true
{{- end }}
{{- if and .Values.gateway.enabled .Values.gateway.existingTokensSecret }}
- name: rankgauge-tokens
  mountPath: /etc/rankgauge/tokens
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Volumes except the one of the checkpoints. */}}
{{- define "rankgauge.inputVolumes" -}}
- name: rankgauge-config
  configMap:
    name: {{ include "rankgauge.fullname" . }}-config
{{- if .Values.gold.files }}
- name: rankgauge-gold
  configMap:
    name: {{ include "rankgauge.fullname" . }}-gold
{{- else if .Values.gold.existingConfigMap }}
- name: rankgauge-gold
  configMap:
    name: {{ .Values.gold.existingConfigMap }}
{{- else if .Values.gold.existingSecret }}
- name: rankgauge-gold
  secret:
    secretName: {{ .Values.gold.existingSecret }}
{{- else if .Values.gold.existingClaim }}
- name: rankgauge-gold
  persistentVolumeClaim:
    claimName: {{ .Values.gold.existingClaim }}
    readOnly: true
{{- end }}
{{- if .Values.web.existingSecret }}
- name: rankgauge-web
  secret:
    secretName: {{ .Values.web.existingSecret }}
{{- end }}
{{- if and .Values.gateway.enabled .Values.gateway.existingTokensSecret }}
- name: rankgauge-tokens
  secret:
    secretName: {{ .Values.gateway.existingTokensSecret }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rankgauge.volumes" -}}
{{ include "rankgauge.inputVolumes" . }}
{{- if eq (include "rankgauge.checkpointVolume" .) "emptyDir" }}
# Survives a container restart but not the pod.
- name: rankgauge-checkpoint
  emptyDir:
    sizeLimit: {{ .Values.checkpoint.size }}
{{- end }}
{{- end }}

{{- define "rankgauge.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rankgauge.securityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rankgauge.probe" -}}
httpGet:
  path: /healthz
  port: rankgauge
  {{- if ne .Values.web.scheme "HTTP" }}
  scheme: {{ .Values.web.scheme }}
  {{- end }}
{{- end }}

{{/* Container of rankgauge. The probes use /healthz, the state of the process: a broker outage
restarts nothing and removes no pod from a Service. */}}
{{- define "rankgauge.container" -}}
name: rankgauge
image: {{ include "rankgauge.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - run
  - --config
  - /etc/rankgauge/config/rankgauge.yaml
  {{- with .Values.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with include "rankgauge.env" . | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: rankgauge
    containerPort: {{ include "rankgauge.port" . }}
    protocol: TCP
  {{- if include "rankgauge.hasAdminService" . }}
  - name: admin
    containerPort: {{ include "rankgauge.adminPort" . }}
    protocol: TCP
  {{- end }}
  {{- if and .Values.gateway.enabled (eq .Values.mode "standalone") }}
  - name: gateway
    containerPort: {{ .Values.gateway.port }}
    protocol: TCP
  {{- end }}
startupProbe:
  {{- include "rankgauge.probe" . | nindent 2 }}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  {{- include "rankgauge.probe" . | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 2
  failureThreshold: 6
readinessProbe:
  {{- include "rankgauge.probe" . | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 2
resources:
  {{- include "rankgauge.resources" . | nindent 2 }}
securityContext:
  {{- include "rankgauge.securityContext" . | nindent 2 }}
volumeMounts:
  {{- include "rankgauge.mounts" . | nindent 2 }}
  {{- if .Values.checkpoint.enabled }}
  - name: rankgauge-checkpoint
    mountPath: /var/lib/rankgauge
  {{- end }}
{{- end }}

{{/* Pod that runs one command with the configuration, and ends. Takes root, the name of the container, args before
--config, and more arguments after it. */}}
{{- define "rankgauge.once" -}}
{{- $ := .root -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "rankgauge.podSecurityContext" $ | nindent 2 }}
{{- with $.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .name }}
    image: {{ include "rankgauge.image" $ }}
    imagePullPolicy: {{ $.Values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
      - --config
      - /etc/rankgauge/config/rankgauge.yaml
      {{- with .more }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- with $.Values.env }}
    env:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $.Values.envFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    resources:
      {{- include "rankgauge.resources" $ | nindent 6 }}
    securityContext:
      {{- include "rankgauge.securityContext" $ | nindent 6 }}
    volumeMounts:
      {{- include "rankgauge.mounts" $ | nindent 6 }}
      {{- if $.Values.checkpoint.enabled }}
      - name: rankgauge-checkpoint
        mountPath: /var/lib/rankgauge
      {{- end }}
volumes:
  {{- include "rankgauge.inputVolumes" $ | nindent 2 }}
  {{- if $.Values.checkpoint.enabled }}
  - name: rankgauge-checkpoint
    emptyDir:
      sizeLimit: 16Mi
  {{- end }}
{{- end }}
