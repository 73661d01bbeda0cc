// The dashboard "Search quality": how good the answers are, for whom, how fast, at what price,
// and whether the numbers themselves can be trusted.
//
// It is written in Grafana's classic schema, which every supported version, file provisioning and
// the Kubernetes sidecars load.

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
import { people } from './rows/people';
import { pipeline } from './rows/pipeline';
import { quality } from './rows/quality';
import { regressions } from './rows/regressions';
import { routing } from './rows/routing';
import { slices } from './rows/slices';

/** A variable whose values are those that a label has in Prometheus now. */
function labelVariable(name: string, title: string, series: string, of: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(title)
    .datasource(DATASOURCE)
    .query({ qryType: 1, query: `label_values(${series}, ${of})`, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
    .definition(`label_values(${series}, ${of})`)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.NaturalAsc);
}

/** A label of which all values, none included, or several are shown. */
function several(variable: dashboard.QueryVariableBuilder): dashboard.QueryVariableBuilder {
  return variable
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' });
}

/** A label of which one value is chosen, `value` where it exists. */
function one(variable: dashboard.QueryVariableBuilder, value: string): dashboard.QueryVariableBuilder {
  return variable.current({ text: value, value });
}

/** The dashboard, ready to be written as JSON. */
export function searchQuality(): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder('Search quality')
    .uid('rankgauge-search-quality')
    .description('Search quality judged live against the gold set, with what people did, the evidence of regressions, latency, cost and the health of the measurement itself.')
    .tags(['rankgauge', 'search'])
    .timezone('browser')
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      new dashboard.DashboardLinkBuilder('Runbooks')
        .type(dashboard.DashboardLinkType.Link)
        .icon('doc')
        .tooltip('What each alert means and what to look at first')
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
        .textFormat('{{instance}}: scores before and after are not comparable if the version changed'),
    )
    .withVariable(new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(several(labelVariable('job', 'Job', 'rankgauge_build_info', 'job')))
    .withVariable(several(labelVariable('instance', 'Instance', 'rankgauge_build_info{job=~"$job"}', 'instance')))
    .withVariable(several(labelVariable('variant', 'Variant', family('searches_total', WHOLE), 'variant')))
    .withVariable(one(labelVariable('measure', 'Measure', family('score_count_total', WHOLE), 'measure'), 'nDCG@10'))
    .withVariable(one(labelVariable('cutoff', 'Cutoff', family('documents_total', WHOLE), 'cutoff'), '10'))
    .withVariable(one(labelVariable('slice', 'Slice', family('searches_total', 'slice!="all"'), 'slice'), 'query_type'))
    .withVariable(several(labelVariable('experiment', 'Experiment', family('experiment_split'), 'experiment')))
    .withVariable(one(labelVariable('window', 'Window', family('score'), 'window'), '5m'))
    .withVariable(one(labelVariable('tier', 'Target tier', family('score_target'), 'tier'), 'good'));

  // Ids are counted up in reading order, so that links to a panel live as long as its place does.
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
    people(),
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
