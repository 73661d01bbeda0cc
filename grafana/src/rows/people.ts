// What people did with the results, and of how many searches that is said.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, grid, PER_REPLICA, type Row } from '../panels';
import {
  added,
  addedInAll,
  family,
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

/** Every measure of what people did, whatever its parameters. */
const PEOPLE =
  'measure=~"(CTR|ClickRR|MeanClickRR|IPWClicks|Abandoned|ZeroResult|SAT|Converted|Reformulated|ThumbsUp|' +
  'Satisfied|Rating|SessionSuccess).*"';

/** The histogram of how long people take to click. */
const FIRST_CLICK = 'time_to_first_click_seconds';

/** Text for courses with a sample size in their legend. */
const SAMPLE_SIZE = 'n is their number in the whole time range: a mean of few moves by chance alone.';

/** Text for measures of what people did, which are counted once per search when its reaction is known. */
const WHEN_FINALISED =
  `Counted when a search is finalised, one feedback window (10 minutes unless configured) after it was served. ${SAMPLE_SIZE}`;

/** The row "People". */
export function people(): Row {
  const courseOf = (title: string, by: string, measures: string, legend: string, unit: string, description: string) =>
    course({
      title,
      description: `${description} ${WHEN_FINALISED}`,
      unit,
      width: 8,
      min: 0,
      queries: [{ expr: sizedMeanScore(by, measures, WHOLE, VARIANTS), legend: `${legend} (n = {{n}})` }],
    });
  const reaction = (title: string, measure: string, unit: string, description: string) =>
    courseOf(title, 'variant', `measure="${measure}"`, '{{variant}}', unit, description);
  const reactions = (title: string, measures: string, unit: string, description: string) =>
    courseOf(title, 'measure, variant', `measure=~"${measures}"`, '{{measure}} · {{variant}}', unit, description);
  const perVariant = (counter: string) => sum('variant', rate(family(counter, VARIANTS)));
  const clicks = perVariant('clicks_total');
  const expected = perVariant('expected_clicks_total');
  const strays = perVariant('unserved_clicks_total');
  const firstClick = (q: number, name: string) => ({
    expr: withSampleSize(
      'variant',
      quantile(q, 'variant', FIRST_CLICK, VARIANTS),
      addedInAll(family(`${FIRST_CLICK}_count`, VARIANTS)),
    ),
    legend: `{{variant}} ${name} (n = {{n}})`,
  });
  const rolling = (name: string) => max('measure, variant, instance', family(name, PEOPLE, WHOLE, VARIANTS, WINDOW));
  return {
    title: 'People',
    panels: [
      reaction('Click-through rate', 'CTR', units.PercentUnit, 'Share of searches with at least one click.'),
      reactions(
        'Clicks and sessions that satisfied',
        'SAT.*|SessionSuccess',
        units.PercentUnit,
        'SAT: share of searches with a click on a result that was looked at for long. SessionSuccess: share of ' +
          'sessions that ended with such a click, a conversion or praise.',
      ),
      reaction('Conversion', 'Converted', units.PercentUnit, 'Share of searches that led to a conversion.'),
      reaction(
        'Abandonment',
        'Abandoned',
        units.PercentUnit,
        'Share of searches that showed results and earned no click, conversion or positive rating. Less is better.',
      ),
      reactions(
        'Reformulation',
        'Reformulated.*',
        units.PercentUnit,
        'Share of searches after which something else was soon searched in the same session. Less is better.',
      ),
      reaction(
        'Searches without results',
        'ZeroResult',
        units.PercentUnit,
        'Share of searches that found nothing. Less is better.',
      ),
      reaction('Thumbs up', 'ThumbsUp', units.PercentUnit, 'Thumbs up / (up + down), of the searches that got any.'),
      reactions(
        'Ratings',
        'Satisfied|Rating',
        units.PercentUnit,
        'Satisfied: share of ratings in the top two of their scale. Rating: their mean, on a scale from 0 to 1. Of ' +
          'the searches that were rated.',
      ),
      reaction(
        'Reciprocal rank of the best click',
        'ClickRR',
        units.Short,
        '1 / the highest position clicked: near 1 when people find their answer at the top.',
      ),
      course({
        title: 'Time to the first click',
        description:
          'Median and 95th percentile of the time from a search to its first click, all replicas together, ' +
          `interpolated within the histogram's buckets. Of the searches that were clicked. ${SAMPLE_SIZE}`,
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [firstClick(0.5, 'p50'), firstClick(0.95, 'p95')],
      }),
      course({
        title: 'Clicks over expected clicks (COEC)',
        description:
          'Clicked results / clicks to be expected at the positions shown: above 1, people click more than the ' +
          'positions alone explain. Empty without feedback.expected_clicks. n is the number of clicks expected in the ' +
          'whole time range: of few, the quotient moves by chance alone.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          {
            expr: withSampleSize(
              'variant',
              ratio(`(${clicks} or 0 * ${expected})`, expected),
              addedInAll(family('expected_clicks_total', VARIANTS)),
            ),
            legend: '{{variant}} (n = {{n}})',
          },
        ],
      }),
      course({
        title: 'Clicks on what was not served',
        description:
          'Share of clicks on results that the search had not served; they count for no measure. If it grows, the ' +
          'ids of clicks and results are not the same ids. n is the number of searches in the whole time range.',
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        queries: [
          {
            // A variant may have had clicks of one kind only.
            expr: withSampleSize(
              'variant',
              ratio(`(${strays} or 0 * ${clicks})`, `(${clicks} + ${strays} or ${clicks} or ${strays})`),
              addedInAll(family('searches_total', WHOLE, VARIANTS)),
            ),
            legend: '{{variant}} (n = {{n}})',
          },
        ],
      }),
      grid(
        {
          title: 'What people did in the time range',
          description:
            'Mean, half the width of its 95 % confidence interval, and the number of searches (ratings of whole ' +
            'sessions count as one) that it is the mean of. Where the interval is as wide as the mean, nothing is known yet.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(added, 'measure, variant', PEOPLE, WHOLE, VARIANTS), legend: 'mean' },
            { expr: meanScoreMargin(added, 'measure, variant', PEOPLE, WHOLE, VARIANTS), legend: '± 95 %' },
            {
              expr: `${sum('measure, variant', added(family('score_count_total', PEOPLE, WHOLE, VARIANTS)))} > 0`,
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
          title: 'Rolling measures of people ($window)',
          description:
            `${PER_REPLICA} n is how many searches or sessions are in the window. Below feedback.min_samples the ` +
            'score is withheld and its cell empty.',
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
      course({
        title: 'Feedback by type',
        description:
          'Feedback events that met their search or its session, per second. A type that falls silent is a broken client.',
        unit: units.CountsPerSecond,
        width: 12,
        min: 0,
        queries: [{ expr: sum('type', rate(family('feedback_total', VARIANTS))), legend: '{{type}}' }],
      }),
      course({
        title: 'Sessions that cannot be measured whole',
        description:
          'Searches per second that were taken as ones without a session, because 1,000 others had the same session ' +
          'id: that of nobody, or of a machine. Reformulated and SessionSuccess leave them out. And sessions whose ' +
          'searches came from several partitions: they are seen in parts.',
        unit: units.CountsPerSecond,
        width: 12,
        min: 0,
        queries: [
          { expr: `sum(${rate(family('crowded_session_searches_total'))})`, legend: 'searches of crowded sessions' },
          { expr: `sum(${rate(family('sessions_split_total'))})`, legend: 'sessions in several partitions' },
        ],
      }),
    ],
  };
}
