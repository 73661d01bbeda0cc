// Scores and targets.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { queriesLink } from '../links';
import { chart, grid, number, PER_REPLICA, referenceLines, type Row } from '../panels';
import {
  family,
  increase,
  max,
  meanScore,
  meanScoreMargin,
  MEASURE,
  rate,
  ratio,
  sum,
  VARIANTS,
  WHOLE,
  WINDOW,
} from '../promql';

/** The row "Quality". */
export function quality(): Row {
  const mean = meanScore(increase, 'measure, variant', WHOLE, VARIANTS);
  const target = max('measure', family('score_target', 'tier="$tier"'));
  return {
    title: 'Quality',
    panels: [
      number({
        title: 'Mean $measure in the time range',
        description:
          'Mean over all searches judged in the dashboard\'s time range, over all replicas. A variant without searches ' +
          'is absent.',
        unit: units.Short,
        width: 18,
        queries: [
          { expr: meanScore(increase, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
        ],
      })
        .decimals(3)
        .dataLinks([queriesLink()]),
      number({
        title: 'Searches judged',
        description:
          'Share of the searches in the time range that match a gold query. Other searches have no gold scores, so the ' +
          'gold measures on this dashboard describe this share. A search counts when its feedback window has passed.',
        unit: units.PercentUnit,
        width: 6,
        queries: [
          {
            expr: ratio(
              `sum(${increase(family('events_total', 'kind="search"', 'outcome="judged"'))})`,
              `sum(${increase(family('events_total', 'kind="search"', 'outcome=~"judged|unjudged"'))})`,
            ),
            legend: 'judged',
          },
        ],
      }).decimals(1),
      referenceLines(
        chart({
          title: '$measure by variant',
          description:
            'Mean score over time, over all replicas, computed from the counters. The dashed lines named "target" are ' +
            'the configured targets.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(rate, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
            { expr: max('tier', family('score_target', MEASURE)), legend: 'target: {{tier}}' },
          ],
        }),
        'target: ',
      ).dataLinks([queriesLink()]),
      chart({
        title: 'Rolling $measure ($window)',
        description: `${PER_REPLICA} An empty window has no value.`,
        unit: units.Short,
        width: 12,
        queries: [
          { expr: family('score', MEASURE, WHOLE, VARIANTS, WINDOW), legend: '{{variant}} ({{instance}})' },
        ],
      }),
      grid(
        {
          title: 'All measures in the time range',
          description:
            'Mean, half the width of its 95 % confidence interval, number of searches, and the target of the tier ' +
            'selected above. Chance does not explain a gap below 0 that is wider than the interval. Measures without a ' +
            'target have no gap. For Abandoned, Reformulated, ZeroResult, DupBefore, DupAfter, FP and FN lower is better.',
          unit: units.Short,
          width: 24,
          queries: [
            { expr: mean, legend: 'mean' },
            { expr: meanScoreMargin(increase, 'measure, variant', WHOLE, VARIANTS), legend: '± 95 %' },
            {
              expr: `${sum('measure, variant', increase(family('score_count_total', WHOLE, VARIANTS)))} > 0`,
              legend: 'searches',
            },
            { expr: `0 * (${mean}) + on (measure) group_left () ${target}`, legend: 'target' },
            { expr: `${mean} - on (measure) group_left () ${target}`, legend: 'gap' },
          ],
        },
        ['measure', 'variant'],
      )
        .decimals(3)
        .overrideByName('searches', [{ id: 'decimals', value: 0 }])
        .overrideByName('gap', [
          { id: 'custom.cellOptions', value: { type: 'color-text' } },
          {
            id: 'thresholds',
            value: { mode: 'absolute', steps: [{ value: null, color: 'red' }, { value: 0, color: 'green' }] },
          },
        ]),
    ],
  };
}
