// User feedback on the results, with sample sizes.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, grid, PER_REPLICA, type Row } from '../panels';
import {
  constantIncrease,
  family,
  increase,
  max,
  meanScore,
  meanScoreMargin,
  quantile,
  rate,
  ratio,
  sizedMeanScore,
  sum,
  VARIANTS,
  WHOLE,
  WINDOW,
  withSampleSize,
} from '../promql';

/** All measures of user feedback, with any parameters. */
const USER_MEASURES =
  'measure=~"(CTR|ClickRR|MeanClickRR|IPWClicks|Abandoned|ZeroResult|SAT|Converted|Reformulated|ThumbsUp|' +
  'Satisfied|Rating|SessionSuccess).*"';

/** Histogram of the time to the first click. */
const FIRST_CLICK = 'time_to_first_click_seconds';

/** Description of charts with a sample size in their legend. */
const SAMPLE_SIZE = 'n is the sample size in the time range. With a small n, the value moves by chance.';

/** Description of user measures. A search counts once, after its feedback window. */
const WHEN_FINALISED =
  `A search counts when it is finalised, one feedback window (default 10 minutes) after it was served. ${SAMPLE_SIZE}`;

/** The row "Users". */
export function users(): Row {
  const chartOf = (title: string, by: string, measures: string, legend: string, unit: string, description: string) =>
    chart({
      title,
      description: `${description} ${WHEN_FINALISED}`,
      unit,
      width: 8,
      min: 0,
      queries: [{ expr: sizedMeanScore(by, measures, WHOLE, VARIANTS), legend: `${legend} (n = {{n}})` }],
    });
  const byVariant = (title: string, measure: string, unit: string, description: string) =>
    chartOf(title, 'variant', `measure="${measure}"`, '{{variant}}', unit, description);
  const byMeasure = (title: string, measures: string, unit: string, description: string) =>
    chartOf(title, 'measure, variant', `measure=~"${measures}"`, '{{measure}} · {{variant}}', unit, description);
  const perVariant = (counter: string) => sum('variant', rate(family(counter, VARIANTS)));
  const clicks = perVariant('clicks_total');
  const expected = perVariant('expected_clicks_total');
  const unserved = perVariant('unserved_clicks_total');
  const firstClick = (q: number, name: string) => ({
    expr: withSampleSize(
      'variant',
      quantile(q, 'variant', FIRST_CLICK, VARIANTS),
      constantIncrease(family(`${FIRST_CLICK}_count`, VARIANTS)),
    ),
    legend: `{{variant}} ${name} (n = {{n}})`,
  });
  const rolling = (name: string) => max('measure, variant, instance', family(name, USER_MEASURES, WHOLE, VARIANTS, WINDOW));
  return {
    title: 'Users',
    panels: [
      byVariant('Click-through rate', 'CTR', units.PercentUnit, 'Share of searches with at least one click.'),
      byMeasure(
        'Satisfied clicks and sessions',
        'SAT.*|SessionSuccess',
        units.PercentUnit,
        'SAT: share of searches with a click on a result with a long dwell time. SessionSuccess: share of sessions that ' +
          'ended with such a click, a conversion, a thumb up or a positive rating.',
      ),
      byVariant('Conversion', 'Converted', units.PercentUnit, 'Share of searches that led to a conversion.'),
      byVariant(
        'Abandonment',
        'Abandoned',
        units.PercentUnit,
        'Share of searches with results but without a click, conversion, thumb up or positive rating. Lower is better.',
      ),
      byMeasure(
        'Reformulation',
        'Reformulated.*',
        units.PercentUnit,
        'Share of searches that were soon followed by another query in the same session. Lower is better.',
      ),
      byVariant(
        'Searches without results',
        'ZeroResult',
        units.PercentUnit,
        'Share of searches without any result. Lower is better.',
      ),
      byVariant('Thumbs up', 'ThumbsUp', units.PercentUnit, 'Thumbs up / (up + down), over searches with thumbs.'),
      byMeasure(
        'Ratings',
        'Satisfied|Rating',
        units.PercentUnit,
        'Satisfied: share of ratings in the top two values of their scale. Rating: mean rating, on a scale from 0 to 1. ' +
          'Both over rated searches.',
      ),
      byVariant(
        'Reciprocal rank of the best click',
        'ClickRR',
        units.Short,
        '1 / the highest clicked position. Near 1 if users click the first result.',
      ),
      chart({
        title: 'Time to the first click',
        description:
          'Median and 95th percentile of the time from a search to its first click, over all replicas, interpolated ' +
          `within the histogram's buckets. Searches without a click are excluded. ${SAMPLE_SIZE}`,
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [firstClick(0.5, 'p50'), firstClick(0.95, 'p95')],
      }),
      chart({
        title: 'Clicks over expected clicks (COEC)',
        description:
          'Clicked results / expected clicks at the positions shown. Above 1, users click more than the positions ' +
          'explain. Empty without feedback.expected_clicks. n is the number of expected clicks in the time range. With a ' +
          'small n, the value moves by chance.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr: withSampleSize(
              'variant',
              ratio(`(${clicks} or 0 * ${expected})`, expected),
              constantIncrease(family('expected_clicks_total', VARIANTS)),
            ),
            legend: '{{variant}} (n = {{n}})',
          },
        ],
      }),
      chart({
        title: 'Clicks on unserved results',
        description:
          'Share of clicks on results that the search did not serve. No measure counts them. A growing share means that ' +
          'the ids of clicks and results differ. n is the number of searches in the time range.',
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        queries: [
          {
            // A variant may have clicks of one kind only.
            expr: withSampleSize(
              'variant',
              ratio(`(${unserved} or 0 * ${clicks})`, `(${clicks} + ${unserved} or ${clicks} or ${unserved})`),
              constantIncrease(family('searches_total', WHOLE, VARIANTS)),
            ),
            legend: '{{variant}} (n = {{n}})',
          },
        ],
      }),
      grid(
        {
          title: 'User feedback in the time range',
          description:
            'Mean, half the width of its 95 % confidence interval, and the number of searches behind it. A rating of a ' +
            'whole session counts as one search. An interval as wide as the mean means that there is too little data.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(increase, 'measure, variant', USER_MEASURES, WHOLE, VARIANTS), legend: 'mean' },
            { expr: meanScoreMargin(increase, 'measure, variant', USER_MEASURES, WHOLE, VARIANTS), legend: '± 95 %' },
            {
              expr: `${sum('measure, variant', increase(family('score_count_total', USER_MEASURES, WHOLE, VARIANTS)))} > 0`,
              legend: 'n',
            },
          ],
        },
        ['measure', 'variant'],
      )
        .decimals(3)
        .overrideByName('n', [{ id: 'decimals', value: 0 }]),
      grid(
        {
          title: 'Rolling user measures ($window)',
          description:
            `${PER_REPLICA} n is the number of searches or sessions in the window. Below feedback.min_samples the ` +
            'score is absent and its cell is empty.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: rolling('score'), legend: 'score' },
            { expr: rolling('score_samples'), legend: 'n' },
          ],
        },
        ['measure', 'variant', 'instance'],
      )
        .decimals(3)
        .overrideByName('n', [{ id: 'decimals', value: 0 }]),
      chart({
        title: 'Feedback by type',
        description:
          'Feedback events joined with their search or its session, per second. If a type stops, its client is probably ' +
          'broken.',
        unit: units.CountsPerSecond,
        width: 12,
        min: 0,
        queries: [{ expr: sum('type', rate(family('feedback_total', VARIANTS))), legend: '{{type}}' }],
      }),
      chart({
        title: 'Sessions measured incompletely',
        description:
          'Searches per second over the limit of 1,000 searches per session id; Reformulated and SessionSuccess exclude ' +
          'them. Sessions per second with searches in several partitions; session measures see only parts of them.',
        unit: units.CountsPerSecond,
        width: 12,
        min: 0,
        queries: [
          { expr: `sum(${rate(family('session_limit_exceeded_total'))})`, legend: 'searches over the session limit' },
          { expr: `sum(${rate(family('sessions_cross_partition_total'))})`, legend: 'sessions in several partitions' },
        ],
      }),
    ],
  };
}
