// Template variables. A dashboard names those that its panels use.

import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE, DATASOURCE_INPUT } from './panels';
import { family, WHOLE } from './promql';

/** Names of the variables of single dashboards. */
export type Variable = 'variant' | 'measure' | 'cutoff' | 'slice' | 'experiment' | 'window' | 'tier';

type AnyVariable = dashboard.QueryVariableBuilder | dashboard.DatasourceVariableBuilder | dashboard.TextBoxVariableBuilder;

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

const BUILDERS: Record<Variable, () => dashboard.QueryVariableBuilder> = {
  variant: () => multiple(labelVariable('variant', 'Variant', family('searches_total', WHOLE), 'variant')),
  measure: () => single(labelVariable('measure', 'Measure', family('score_count_total', WHOLE), 'measure'), 'nDCG@10'),
  cutoff: () => single(labelVariable('cutoff', 'Cutoff', family('documents_total', WHOLE), 'cutoff'), '10'),
  slice: () => single(labelVariable('slice', 'Slice', family('searches_total', 'slice!="all"'), 'slice'), 'query_type'),
  experiment: () => multiple(labelVariable('experiment', 'Experiment', family('experiment_split'), 'experiment')),
  window: () => single(labelVariable('window', 'Window', family('score'), 'window'), '5m'),
  tier: () => single(labelVariable('tier', 'Target tier', family('score_target'), 'tier'), 'good'),
};

/** Variables of every dashboard, and those named. */
export function variables(names: Variable[]): AnyVariable[] {
  return [
    // An import replaces the value by the chosen data source. Provisioning does not; Grafana then
    // selects the first data source of the type.
    new dashboard.DatasourceVariableBuilder('datasource')
      .label('Data source')
      .type('prometheus')
      .current({ text: 'Prometheus', value: `\${${DATASOURCE_INPUT}}` }),
    // Without external labels, there is no cluster, and all values include the absent one.
    multiple(labelVariable('cluster', 'Cluster', 'rankgauge_build_info', 'cluster')),
    multiple(labelVariable('job', 'Job', 'rankgauge_build_info{cluster=~"$cluster"}', 'job')),
    multiple(labelVariable('instance', 'Instance', 'rankgauge_build_info{cluster=~"$cluster",job=~"$job"}', 'instance')),
    ...names.map((name) => BUILDERS[name]()),
    new dashboard.TextBoxVariableBuilder('live_page')
      .label('Live page')
      .description('Address of the live page of a sidecar (admin.listen), as the browser reaches it')
      .defaultValue('http://127.0.0.1:9469')
      .current({ text: 'http://127.0.0.1:9469', value: 'http://127.0.0.1:9469' }),
  ];
}
