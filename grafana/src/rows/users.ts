// What people did with the results.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, type Row } from '../panels';
import { family, meanScore, rate, sum, VARIANTS, WHOLE } from '../promql';

/** Text for measures of what users did, which are counted once per search when its reaction is known. */
const WHEN_FINALISED =
  'Counted when a search is finalised, one feedback window (10 minutes unless configured) after it was served.';

/** The row "Users". */
export function users(): Row {
  const reaction = (measure: string, title: string, unit: string, description: string) =>
    course({
      title,
      description: `${description} ${WHEN_FINALISED}`,
      unit,
      width: 8,
      min: 0,
      queries: [{ expr: meanScore(rate, 'variant', `measure="${measure}"`, WHOLE, VARIANTS), legend: '{{variant}}' }],
    });
  return {
    title: 'Users',
    panels: [
      reaction('CTR', 'Click-through rate', units.PercentUnit, 'Share of searches with at least one click.'),
      reaction(
        'Abandoned',
        'Abandonment',
        units.PercentUnit,
        'Share of searches that showed results and earned no click, conversion or positive rating. Less is better.',
      ),
      reaction(
        'ZeroResult',
        'Searches without results',
        units.PercentUnit,
        'Share of searches that found nothing. Less is better.',
      ),
      reaction(
        'ClickRR',
        'Reciprocal rank of the best click',
        units.Short,
        '1 / the highest position clicked: near 1 when people find their answer at the top.',
      ),
      reaction('ThumbsUp', 'Thumbs up', units.PercentUnit, 'Thumbs up / (up + down), of the searches that got any.'),
      course({
        title: 'Feedback by type',
        description: 'Feedback events that met their search, per second. A type that falls silent is a broken client.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [{ expr: sum('type', rate(family('feedback_total', VARIANTS))), legend: '{{type}}' }],
      }),
    ],
  };
}
