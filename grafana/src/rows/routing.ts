// Which domain a search was sent to, and which domains answered it.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, course, matrix, type Row } from '../panels';
import { added, family, meanScore, rate, sum, VARIANTS, WHOLE } from '../promql';

/** The row "Routing and collaboration". */
export function routing(): Row {
  const confusion = sum('expected, selected', added(family('routing_total', VARIANTS)));
  // The cells in which both are the same, made from the rows' sums.
  const expected = sum('expected', added(family('routing_total', VARIANTS)));
  const diagonal = `label_replace(${expected}, "selected", "$1", "expected", "(.*)")`;
  return {
    title: 'Routing and collaboration',
    panels: [
      matrix(
        {
          title: 'Routing in the time range: expected and selected domain',
          description:
            'Judged searches by the domain that answers them according to the gold set (rows) and the domain that was ' +
            'chosen (columns). What is right stands where both are the same.',
          unit: units.Short,
          width: 12,
          queries: [{ expr: `${confusion} > 0`, legend: '{{expected}} → {{selected}}' }],
        },
        'expected',
        'selected',
      ).decimals(0),
      matrix(
        {
          title: 'Collaboration in the time range: who answers whom',
          description:
            'Judged searches by the domain they were sent to (rows) and each domain that contributed a relevant ' +
            'result (columns), once a search: rows add up to more than the searches.',
          unit: units.Short,
          width: 12,
          queries: [
            {
              expr: `${sum('primary, contributor', added(family('collaboration_total', VARIANTS)))} > 0`,
              legend: '{{primary}} ← {{contributor}}',
            },
          ],
        },
        'primary',
        'contributor',
      ).decimals(0),
      bars({
        title: 'Most frequent misroutings in the time range',
        description: 'Searches that were sent to another domain than the one that answers them, by the pair confused.',
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [
          { expr: `sort_desc(topk(10, ${confusion} unless ${diagonal}))`, legend: '{{expected}} → {{selected}}' },
        ],
      }).decimals(0),
      course({
        title: 'Routing measures',
        description:
          'Routing@k: share of searches with the right domain among the first k considered. RoutingRR: mean of 1 / its rank.',
        unit: units.PercentUnit,
        width: 12,
        min: 0,
        max: 1,
        queries: [
          {
            expr: meanScore(rate, 'measure, variant', 'measure=~"Routing.+"', WHOLE, VARIANTS),
            legend: '{{measure}} · {{variant}}',
          },
        ],
      }),
    ],
  };
}
