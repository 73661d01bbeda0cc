// What the searches scored, against what was asked for.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, grid, levels, number, PER_REPLICA, type Row } from '../panels';
import {
  added,
  family,
  max,
  MEASURE,
  meanScore,
  meanScoreMargin,
  rate,
  ratio,
  sum,
  VARIANTS,
  WHOLE,
  WINDOW,
} from '../promql';

/** The row "Quality". */
export function quality(): Row {
  const mean = meanScore(added, 'measure, variant', WHOLE, VARIANTS);
  const target = max('measure', family('score_target', 'tier="$tier"'));
  return {
    title: 'Quality',
    panels: [
      number({
        title: 'Mean $measure in the time range',
        description:
          'Mean over every search judged in the dashboard\'s time range, all replicas together. ' +
          'A variant that served nothing is not shown.',
        unit: units.Short,
        width: 18,
        queries: [
          { expr: meanScore(added, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
        ],
      }).decimals(3),
      number({
        title: 'Searches judged',
        description:
          'Share of the searches in the time range that matched a gold query. The rest have no score: ' +
          'what this dashboard says about quality is said about this share. Counted once the feedback window has passed.',
        unit: units.PercentUnit,
        width: 6,
        queries: [
          {
            expr: ratio(
              `sum(${added(family('events_total', 'kind="search"', 'outcome="judged"'))})`,
              `sum(${added(family('events_total', 'kind="search"', 'outcome=~"judged|unjudged"'))})`,
            ),
            legend: 'judged',
          },
        ],
      }).decimals(1),
      levels(
        course({
          title: '$measure by variant',
          description:
            'Mean score of the searches judged at each moment, all replicas together, computed from the counters. ' +
            'The levels named "target" are what the configuration asks for.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(rate, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
            { expr: max('tier', family('score_target', MEASURE)), legend: 'target: {{tier}}' },
          ],
        }),
        'target: ',
      ),
      course({
        title: 'Rolling $measure ($window)',
        description: `${PER_REPLICA} An empty window shows nothing.`,
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
            'Mean, half the width of its 95 % confidence interval, searches counted, and the target of the tier ' +
            'chosen above. A gap below 0 that is wider than the interval is a miss that chance does not explain; ' +
            'measures without a target have none. For Abandoned, ZeroResult, DupBefore, DupAfter, FP and FN less is better.',
          unit: units.Short,
          width: 24,
          queries: [
            { expr: mean, legend: 'mean' },
            { expr: meanScoreMargin(added, 'measure, variant', WHOLE, VARIANTS), legend: '± 95 %' },
            {
              expr: `${sum('measure, variant', added(family('score_count_total', WHOLE, VARIANTS)))} > 0`,
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
