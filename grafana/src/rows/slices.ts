// Where the score comes from: the same measure by a label of the query.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, course, type Row } from '../panels';
import { added, family, LABELLED_SLICE, MEASURE, meanScore, rate, sum, VARIANTS } from '../promql';

/** The row "Slices". */
export function slices(): Row {
  return {
    title: 'Slices',
    panels: [
      course({
        title: '$measure by $slice',
        description:
          'Mean score by value of the slice chosen above. `__other__` collects values beyond the limit on series.',
        unit: units.Short,
        width: 12,
        queries: [
          { expr: meanScore(rate, 'variant, value', MEASURE, LABELLED_SLICE, VARIANTS), legend: '{{value}} · {{variant}}' },
        ],
      }),
      bars({
        title: '$measure by $slice in the time range',
        description: 'The same as one mean per value over the whole time range: where to look first.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [
          { expr: `sort(${meanScore(added, 'value', MEASURE, LABELLED_SLICE, VARIANTS)})`, legend: '{{value}}' },
        ],
      }).decimals(3),
      course({
        title: 'Searches by $slice',
        description:
          'How the traffic is composed. A mean may move because the mixture does, while no slice got worse.',
        unit: units.RequestsPerSecond,
        width: 6,
        min: 0,
        queries: [
          { expr: sum('value', rate(family('searches_total', LABELLED_SLICE, VARIANTS))), legend: '{{value}}' },
        ],
      }),
    ],
  };
}
