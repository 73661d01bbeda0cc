// Cost of the searches, in tokens and in money.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, PER_REPLICA, type Row } from '../panels';
import { family, max, orZero, rate, sum, VARIANTS, WHOLE, WINDOW } from '../promql';

/** The row "Cost". */
export function cost(): Row {
  const costRate = (labels: string) => sum(labels, rate(family('cost_total', VARIANTS)));
  return {
    title: 'Cost',
    panels: [
      chart({
        title: 'Cost per search',
        axis: 'currency units per search',
        description: 'Total cost / all searches, including searches without a known cost, over all replicas, by currency.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr:
              `${costRate('currency, variant')} / on (variant) group_left () ` +
              `(${sum('variant', rate(family('searches_total', WHOLE, VARIANTS)))} > 0)`,
            legend: '{{variant}} ({{currency}})',
          },
        ],
      }),
      chart({
        title: 'Rolling cost per search ($window)',
        axis: 'currency units per search',
        description: `${PER_REPLICA} Mean and 95th percentile over searches with a known cost. The highest value of the replicas is shown.`,
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr: max('variant, currency', family('cost_per_query_mean', VARIANTS, WINDOW)),
            legend: '{{variant}} mean ({{currency}})',
          },
          {
            expr: max('variant, currency, quantile', family('cost_per_query_quantile', VARIANTS, WINDOW)),
            legend: '{{variant}} q{{quantile}} ({{currency}})',
          },
        ],
      }),
      chart({
        title: 'Cost per hour by model',
        axis: 'currency units per hour',
        description: 'Cost per hour of each model at the current rate, by currency.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: `3600 * ${costRate('currency, model')}`, legend: '{{model}} ({{currency}})' }],
      }),
      chart({
        title: 'Tokens per second',
        description: 'Tokens by model and direction: input, output, cache read, reasoning.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('model, direction', rate(family('tokens_total', VARIANTS))), legend: '{{model}} {{direction}}' },
        ],
      }),
      chart({
        title: 'Model calls per second',
        description: 'Model calls reported by the searches, by model and operation.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('model, operation', rate(family('llm_calls_total', VARIANTS))), legend: '{{model}} {{operation}}' },
        ],
      }),
      chart({
        title: 'Unpriced usage',
        description:
          'Model calls per second with neither a cost in the event nor a price in the price table. All costs on this ' +
          'dashboard exclude them. Add the model to the price table.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: orZero(sum('model', rate(family('unpriced_usage_total'))), 'model'), legend: '{{model}}' },
        ],
      }),
    ],
  };
}
