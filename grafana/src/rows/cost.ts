// What the searches cost, in tokens and in money.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, PER_REPLICA, type Row } from '../panels';
import { family, max, orZero, rate, sum, VARIANTS, WHOLE, WINDOW } from '../promql';

/** The row "Cost". */
export function cost(): Row {
  const spent = (labels: string) => sum(labels, rate(family('cost_total', VARIANTS)));
  return {
    title: 'Cost',
    panels: [
      course({
        title: 'Cost per search',
        description: 'What was spent / all searches, also those without a known cost, all replicas together, in the currency named.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr:
              `${spent('currency, variant')} / on (variant) group_left () ` +
              `(${sum('variant', rate(family('searches_total', WHOLE, VARIANTS)))} > 0)`,
            legend: '{{variant}} ({{currency}})',
          },
        ],
      }),
      course({
        title: 'Rolling cost per search ($window)',
        description: `${PER_REPLICA} Mean and 95th percentile of the searches whose cost is known; the dearest replica is shown.`,
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr: max('variant, currency, stat', family('cost_per_query', VARIANTS, WINDOW)),
            legend: '{{variant}} {{stat}} ({{currency}})',
          },
        ],
      }),
      course({
        title: 'Cost per hour by model',
        description: 'What each model costs at the present rate, in the currency named.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: `3600 * ${spent('currency, model')}`, legend: '{{model}} ({{currency}})' }],
      }),
      course({
        title: 'Tokens per second',
        description: 'Tokens by model and direction: input, output, cache read, reasoning.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('model, direction', rate(family('tokens_total', VARIANTS))), legend: '{{model}} {{direction}}' },
        ],
      }),
      course({
        title: 'Model calls per second',
        description: 'Calls by model and operation, as the searches report them.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('model, operation', rate(family('llm_calls_total', VARIANTS))), legend: '{{model}} {{operation}}' },
        ],
      }),
      course({
        title: 'Usage without a price',
        description:
          'Calls per second of models that neither the event nor the price table prices. They are missing from ' +
          'every cost shown here: add the model to the price table.',
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
