// The selected measure by slice: a label of the query.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, matrix, type Row } from '../panels';
import { constantIncrease, family, increase, LABELLED_SLICE, meanScore, MEASURE, rate, sum, VARIANTS } from '../promql';

/** The row "Slices". */
export function slices(): Row {
  // Constant over the time range, so that the same values are drawn at each of its points.
  const searches = sum('value', constantIncrease(family('searches_total', LABELLED_SLICE, VARIANTS)));
  return {
    title: 'Slices',
    panels: [
      chart({
        title: '$measure by $slice',
        description:
          'Mean score of the five values with the most searches in the time range, over the selected variants. The ' +
          'table has all values. `__other__` contains the values over the limit on series.',
        unit: units.Short,
        width: 10,
        queries: [
          {
            expr: `${meanScore(rate, 'value', MEASURE, LABELLED_SLICE, VARIANTS)} and on (value) topk(5, ${searches})`,
            legend: '{{value}}',
          },
        ],
      }),
      matrix(
        {
          title: '$measure by $slice and variant in the time range',
          description: 'Mean score of every value with every variant; a darker cell is a higher mean. Empty: no searches.',
          unit: units.Short,
          width: 8,
          height: 8,
          queries: [
            { expr: meanScore(increase, 'value, variant', MEASURE, LABELLED_SLICE, VARIANTS), legend: '{{value}} {{variant}}' },
          ],
        },
        'value',
        'variant',
      ).decimals(3),
      chart({
        title: 'Searches by $slice',
        description:
          'Composition of the traffic: the ten most frequent values. The overall mean can move with the composition while the mean of every slice is constant.',
        unit: units.RequestsPerSecond,
        width: 6,
        min: 0,
        queries: [
          {
            expr: `${sum('value', rate(family('searches_total', LABELLED_SLICE, VARIANTS)))} and on (value) topk(10, ${searches})`,
            legend: '{{value}}',
          },
        ],
      }),
    ],
  };
}
