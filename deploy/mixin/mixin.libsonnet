// Alerts, recorded rules and dashboards of rankgauge as a monitoring mixin.
//
//   local rankgauge = (import 'rankgauge/deploy/mixin/mixin.libsonnet') + {
//     _config+:: { disabled: ['RankgaugeNoFeedback'], severity: { RankgaugeNoEvents: 'warning' } },
//   };
//   rankgauge.prometheusAlerts
//
// The rules are those of deploy/prometheus/rules. The options have the names and meanings of `prometheusRule` in the
// chart (deploy/helm/rankgauge/values.yaml).
{
  _config+:: {
    // Names of alerts that are not created.
    disabled: [],
    // Another severity by the name of an alert.
    severity: {},
    // Another duration before an alert fires, by its name.
    'for': {},
    // Labels that every alert gets.
    alertLabels: {},
    // External labels beside cluster that tell clusters apart, in the Prometheus that evaluates the rules.
    clusterLabels: [],
    // Begins the link of every alert to its runbook; the name of the alert follows in lower case.
    runbookUrl: '',
  },

  local config = self._config,
  local deployment = std.join(', ', config.clusterLabels + ['cluster, namespace, job']),
  local read(file) = std.parseYaml(std.strReplace(file, 'cluster, namespace, job', deployment)),
  local files = [
    read(importstr '../prometheus/rules/objectives.rules.yaml'),
    read(importstr '../prometheus/rules/pipeline.rules.yaml'),
    read(importstr '../prometheus/rules/quality.rules.yaml'),
    read(importstr '../prometheus/rules/recorded.rules.yaml'),
  ],
  local groups = std.flatMap(function(file) file.groups, files),
  local isAlert(rule) = std.objectHas(rule, 'alert'),
  local names = [rule.alert for group in groups for rule in group.rules if isAlert(rule)],
  local known(option, wanted) = std.all([
    std.member(names, name) || error '_config.%s: there is no alert "%s"' % [option, name]
    for name in wanted
  ]),

  local changed(rule) = rule {
    labels+:
      (if std.objectHas(config.severity, rule.alert) then { severity: config.severity[rule.alert] } else {})
      + config.alertLabels,
    [if std.objectHas(config['for'], rule.alert) then 'for']: config['for'][rule.alert],
    annotations+: if config.runbookUrl == '' then {} else { runbook_url: config.runbookUrl + std.asciiLower(rule.alert) },
  },
  local with(rules) = std.filter(
    function(group) std.length(group.rules) > 0,
    [group { rules: rules(group.rules) } for group in groups]
  ),

  // Alerts, in the groups of the files.
  prometheusAlerts+::
    assert known('disabled', config.disabled);
    assert known('severity', std.objectFields(config.severity));
    assert known('for', std.objectFields(config['for']));
    {
      groups+: with(function(rules) [
        changed(rule)
        for rule in rules
        if isAlert(rule) && !std.member(config.disabled, rule.alert)
      ]),
    },

  // Recorded rules, which the alerts and dashboards read.
  prometheusRules+:: {
    groups+: with(function(rules) [rule for rule in rules if !isAlert(rule)]),
  },

  grafanaDashboards+:: {
    'components.json': import '../../grafana/dashboards/components.json',
    'latency.json': import '../../grafana/dashboards/latency.json',
    'overview.json': import '../../grafana/dashboards/overview.json',
    'pipeline.json': import '../../grafana/dashboards/pipeline.json',
    'search-quality.json': import '../../grafana/dashboards/search-quality.json',
    'users.json': import '../../grafana/dashboards/users.json',
  },
}
