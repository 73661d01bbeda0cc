// Selected domain of a search, and domains that contributed relevant results.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, chart, matrix, type Row } from '../panels';
import { family, increase, meanScore, rate, sum, VARIANTS, WHOLE } from '../promql';

/** The row "Routing and collaboration". */
export function routing(): Row {
  const confusion = sum('expected, selected', increase(family('routing_total', VARIANTS)));
  // The diagonal of the matrix, built from the row sums.
  const expected = sum('expected', increase(family('routing_total', VARIANTS)));
  const diagonal = `label_replace(${expected}, "selected", "$1", "expected", "(.*)")`;
  return {
    title: 'Routing and collaboration',
    panels: [
      matrix(
        {
          title: 'Routing in the time range: expected and selected domain',
          description:
            'Judged searches by the domain that the gold set expects (rows) and the selected domain (columns). The diagonal ' +
            'contains the correctly routed searches.',
          unit: units.Short,
          width: 12,
          queries: [{ expr: `${confusion} > 0`, legend: '{{expected}} → {{selected}}' }],
        },
        'expected',
        'selected',
      ).decimals(0),
      matrix(
        {
          title: 'Collaboration in the time range: primary and contributing domain',
          description:
            'Judged searches by the domain they were routed to (rows) and each domain that contributed a relevant result ' +
            '(columns). A search counts once per contributing domain, so the sum of a row can exceed its searches.',
          unit: units.Short,
          width: 12,
          queries: [
            {
              expr: `${sum('primary, contributor', increase(family('collaboration_total', VARIANTS)))} > 0`,
              legend: '{{primary}} ← {{contributor}}',
            },
          ],
        },
        'primary',
        'contributor',
      ).decimals(0),
      bars({
        title: 'Most frequent misroutings in the time range',
        description: 'Searches routed to another domain than the expected one, by pair of domains.',
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [
          { expr: `sort_desc(topk(10, ${confusion} unless ${diagonal}))`, legend: '{{expected}} → {{selected}}' },
        ],
      }).decimals(0),
      chart({
        title: 'Routing measures',
        description:
          'Routing@k: share of searches with the expected domain among the first k. RoutingRR: mean of 1 / its rank.',
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
