// Links between dashboards, to runbooks and to the live page, and annotations.

import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import { DATASOURCE } from './panels';
import { family, firing, WHOLE } from './promql';

/** Stable uids. Alerts and bookmarks use them. */
export const UID = {
  overview: 'rankgauge-overview',
  quality: 'rankgauge-search-quality',
  users: 'rankgauge-users',
  latency: 'rankgauge-latency',
  pipeline: 'rankgauge-pipeline',
  components: 'rankgauge-components',
} as const;

/** Tag of all dashboards. The links between them are a list by this tag. */
export const TAG = 'rankgauge';

/** Links at the top of a dashboard. Variables and the time range go with them. */
export function dashboardLinks(): dashboard.DashboardLinkBuilder[] {
  return [
    new dashboard.DashboardLinkBuilder('Dashboards')
      .type(dashboard.DashboardLinkType.Dashboards)
      .tags([TAG])
      .asDropdown(false)
      .includeVars(true)
      .keepTime(true),
    new dashboard.DashboardLinkBuilder('Live page')
      .type(dashboard.DashboardLinkType.Link)
      .icon('external link')
      .tooltip('Queries, rankings and alarms of one sidecar')
      .url('${live_page:raw}/')
      .targetBlank(true),
    new dashboard.DashboardLinkBuilder('Runbooks')
      .type(dashboard.DashboardLinkType.Link)
      .icon('doc')
      .tooltip('Meaning and diagnosis of each alert')
      .url('https://github.com/rankgauge/rankgauge/blob/main/docs/runbooks.md')
      .targetBlank(true),
  ];
}

function dataLink(title: string, url: string): dashboard.DashboardLinkBuilder {
  return new dashboard.DashboardLinkBuilder(title).url(url).targetBlank(true);
}

/** Link of a series with the label `variant` to the regressed queries of the variant on the live page. */
export function queriesLink(measure = '${measure:percentencode}'): dashboard.DashboardLinkBuilder {
  return dataLink(
    'Most regressed queries of ${__field.labels.variant}',
    `\${live_page:raw}/queries?order=regressed&variant=\${__field.labels.variant:percentencode}&measure=${measure}`,
  );
}

/** Link of a row with the column `variant` to the incidents of the variant on the live page. */
export function incidentsLink(): dashboard.DashboardLinkBuilder {
  return dataLink('Incidents of the variant', '${live_page:raw}/incidents?variant=${__data.fields.variant:percentencode}');
}

/** Link to another dashboard with the same scope and time range, and further parameters. */
export function dashboardLink(title: string, uid: string, ...parameters: string[]): dashboard.DashboardLinkBuilder {
  const scope = ['${datasource:queryparam}', '${cluster:queryparam}', '${job:queryparam}', '${__url_time_range}'];
  return dataLink(title, `/d/${uid}?${[...scope, ...parameters].join('&')}`);
}

function annotation(name: string, colour: string, expr: string, title: string, text: string) {
  return new dashboard.AnnotationQueryBuilder()
    .name(name)
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor(colour)
    .target(new prometheus.DataqueryBuilder().refId('Anno').expr(expr).range())
    .titleFormat(title)
    .textFormat(text);
}

/** Annotations of every dashboard: alarms, deployments and reloads of the gold set. */
export function annotations(): dashboard.AnnotationQueryBuilder[] {
  const searches = family('searches_total', WHOLE);
  const before = `${searches} offset $__rate_interval`;
  return [
    annotation(
      'Alarms',
      'red',
      firing('concern="quality"'),
      '{{alertname}}',
      '{{variant}} {{measure}} {{slice}} {{value}}',
    ),
    annotation(
      'Deployments',
      'blue',
      `sum by (variant) (${searches}) unless on (variant) sum by (variant) (${before})`,
      'First searches of variant {{variant}}',
      'A deployment changes the variant of the searches',
    ),
    annotation(
      'Gold set reloads',
      'purple',
      `changes(${family('gold_reload_timestamp_seconds')}[$__rate_interval]) > 0`,
      'Gold set reloaded',
      '{{instance}}: if the version changed, scores before and after are not comparable',
    ),
  ];
}
