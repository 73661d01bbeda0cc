// The dashboard "Search quality": scores, user feedback, experiments, latency, cost, and the health
// of the measurement.
//
// It uses Grafana's classic schema. Every supported version, file provisioning and the Kubernetes
// sidecars load that schema.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import { DATASOURCE } from './panels';
import { family, WHOLE } from './promql';
import { components } from './rows/components';
import { cost } from './rows/cost';
import { experiments } from './rows/experiments';
import { gold } from './rows/gold';
import { latency } from './rows/latency';
import { micro } from './rows/micro';
import { pipeline } from './rows/pipeline';
import { quality } from './rows/quality';
import { regressions } from './rows/regressions';
import { routing } from './rows/routing';
import { slices } from './rows/slices';
import { users } from './rows/users';

/** A variable with the values that a label has in Prometheus. */
function labelVariable(name: string, title: string, series: string, of: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(title)
    .datasource(DATASOURCE)
    .query({ qryType: 1, query: `label_values(${series}, ${of})`, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
    .definition(`label_values(${series}, ${of})`)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.NaturalAsc);
}

/** A variable that selects all values of a label, the empty one included, or several. */
function multiple(variable: dashboard.QueryVariableBuilder): dashboard.QueryVariableBuilder {
  return variable
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' });
}

/** A variable that selects one value of a label, `value` by default. */
function single(variable: dashboard.QueryVariableBuilder, value: string): dashboard.QueryVariableBuilder {
  return variable.current({ text: value, value });
}

/** The complete dashboard. */
export function searchQuality(): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder('Search quality')
    .uid('rankgauge-search-quality')
    .description('Live search quality, judged against the gold set, with user feedback, regression evidence, latency, cost and the health of the measurement.')
    .tags(['rankgauge', 'search'])
    .timezone('browser')
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      new dashboard.DashboardLinkBuilder('Runbooks')
        .type(dashboard.DashboardLinkType.Link)
        .icon('doc')
        .tooltip('Meaning and diagnosis of each alert')
        .url('https://github.com/rankgauge/rankgauge/blob/main/docs/runbooks.md')
        .targetBlank(true),
    )
    .annotation(
      new dashboard.AnnotationQueryBuilder()
        .name('Gold set reloaded')
        .datasource(DATASOURCE)
        .enable(true)
        .iconColor('purple')
        .target(
          new prometheus.DataqueryBuilder()
            .refId('Anno')
            .expr(`changes(${family('gold_reload_timestamp_seconds')}[$__rate_interval]) > 0`)
            .range(),
        )
        .titleFormat('Gold set reloaded')
        .textFormat('{{instance}}: if the version changed, scores before and after are not comparable'),
    )
    .withVariable(new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(multiple(labelVariable('job', 'Job', 'rankgauge_build_info', 'job')))
    .withVariable(multiple(labelVariable('instance', 'Instance', 'rankgauge_build_info{job=~"$job"}', 'instance')))
    .withVariable(multiple(labelVariable('variant', 'Variant', family('searches_total', WHOLE), 'variant')))
    .withVariable(single(labelVariable('measure', 'Measure', family('score_count_total', WHOLE), 'measure'), 'nDCG@10'))
    .withVariable(single(labelVariable('cutoff', 'Cutoff', family('documents_total', WHOLE), 'cutoff'), '10'))
    .withVariable(single(labelVariable('slice', 'Slice', family('searches_total', 'slice!="all"'), 'slice'), 'query_type'))
    .withVariable(multiple(labelVariable('experiment', 'Experiment', family('experiment_split'), 'experiment')))
    .withVariable(single(labelVariable('window', 'Window', family('score'), 'window'), '5m'))
    .withVariable(single(labelVariable('tier', 'Target tier', family('score_target'), 'tier'), 'good'));

  // Ids are assigned in reading order. A link to a panel stays valid while the panel keeps its place.
  let id = 0;
  const numbered = <T extends { id?: number }>(panel: Builder<T>): Builder<T> => {
    const built = panel.build();
    id += 1;
    built.id = id;
    return { build: () => built };
  };
  const rows = [
    quality(),
    regressions(),
    micro(),
    slices(),
    components(),
    routing(),
    users(),
    experiments(),
    latency(),
    cost(),
    pipeline(),
    gold(),
  ];
  for (const row of rows) {
    builder.withRow(numbered<dashboard.RowPanel>(new dashboard.RowBuilder(row.title)));
    for (const panel of row.panels) builder.withPanel(numbered(panel));
  }
  return builder.build();
}
