// The selected measure by slice: a label of the query.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { queriesLink } from '../links';
import { bars, chart, type Row } from '../panels';
import { family, increase, LABELLED_SLICE, meanScore, MEASURE, rate, sum, VARIANTS } from '../promql';

/** The row "Slices". */
export function slices(): Row {
  return {
    title: 'Slices',
    panels: [
      chart({
        title: '$measure by $slice',
        description:
          'Mean score by value of the slice selected above. `__other__` contains the values over the limit on series.',
        unit: units.Short,
        width: 12,
        queries: [
          { expr: meanScore(rate, 'variant, value', MEASURE, LABELLED_SLICE, VARIANTS), legend: '{{value}} · {{variant}}' },
        ],
      }).dataLinks([queriesLink()]),
      bars({
        title: '$measure by $slice in the time range',
        description: 'Mean score of each value over the time range, lowest first.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [
          { expr: `sort(${meanScore(increase, 'value', MEASURE, LABELLED_SLICE, VARIANTS)})`, legend: '{{value}}' },
        ],
      }).decimals(3),
      chart({
        title: 'Searches by $slice',
        description:
          'Composition of the traffic. The overall mean can move with the composition while the mean of every slice is constant.',
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
