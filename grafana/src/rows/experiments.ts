// Whether an arm is better than its control, whether that can be believed, and whether the measures
// that say so agree with people.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, course, grid, levels, matrix, RECORDED, type Row } from '../panels';
import { added, EXPERIMENTS, family, max, MEASURE, reached, recorded, sum, VARIANTS, withSampleSize } from '../promql';

const ESTIMATE = 'experiment_difference:estimate';
const HALF_WIDTH = 'experiment_difference:halfwidth';

/** The row "Experiments and agreement". */
export function experiments(): Row {
  const difference = (labels: string, sign: '+' | '-', ...matchers: string[]) => {
    const part = (name: string) => recorded(name, EXPERIMENTS, VARIANTS, ...matchers);
    return max(labels, `${part(ESTIMATE)} ${sign} ${part(HALF_WIDTH)}`);
  };
  const estimate = (labels: string, ...matchers: string[]) =>
    max(labels, recorded(ESTIMATE, EXPERIMENTS, VARIANTS, ...matchers));
  const arm = 'experiment, variant';
  const pair = 'experiment, measure, variant';

  // The slice of an experiment has its id as the value. All arms are needed to know a share.
  const served = added(family('searches_total', 'slice="experiment"', 'value=~"$experiment"'));
  const searches = (labels: string) => sum(labels, `label_replace(${served}, "experiment", "$1", "value", "(.*)")`);
  const got = `${searches(arm)} / on (experiment) group_left () (${searches('experiment')} > 0)`;

  // Of one experiment: (wins + ties / 2) / all - 1/2, since the start of each replica.
  const wins = family('interleaving_wins_total', EXPERIMENTS);
  const won = sum('experiment, team', family('interleaving_wins_total', EXPERIMENTS, 'team!="__tie__"'));
  const tied = sum('experiment', family('interleaving_wins_total', EXPERIMENTS, 'team="__tie__"'));
  const wonAndTied = `(${won} + on (experiment) group_left () ${tied} / 2 or ${won})`;
  const delta = `${wonAndTied} / on (experiment) group_left () (${sum('experiment', wins)} > 0) - 0.5`;

  const judgements = family('production_judgements_total');
  const inGold = family('production_judgements_total', 'gold!="unjudged"');
  const perReplica = (name: string) => max('measure, instance', family(name));
  return {
    title: 'Experiments and agreement',
    panels: [
      levels(
        course({
          title: 'Difference of $measure from the control',
          description:
            'Mean of each arm less that of the control, since the start, with bounds that hold at every look, so that ' +
            'there is no need to wait for a number of searches. While 0 lies between the bounds, nothing is decided. ' +
            `From 100 searches an arm on. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          queries: [
            { expr: difference(arm, '-', MEASURE), legend: 'lower: {{experiment}} {{variant}}' },
            { expr: estimate(arm, MEASURE), legend: '{{experiment}} {{variant}}' },
            { expr: difference(arm, '+', MEASURE), legend: 'upper: {{experiment}} {{variant}}' },
          ],
        }),
        'lower: |upper: ',
      ),
      grid(
        {
          title: 'All measures against the control',
          description:
            'Difference of each arm from the control since the start, its bounds, and the searches of both arms that ' +
            `it is computed from. Whether more is better depends on the measure. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: difference(pair, '-'), legend: 'lower' },
            { expr: estimate(pair), legend: 'difference' },
            { expr: difference(pair, '+'), legend: 'upper' },
            { expr: max(pair, recorded('experiment_pair_count:sum', EXPERIMENTS, VARIANTS)), legend: 'n' },
          ],
        },
        ['experiment', 'measure', 'variant'],
      )
        .decimals(4)
        .overrideByName('n', [{ id: 'decimals', value: 0 }]),
      levels(
        course({
          title: 'Evidence of a wrong split',
          description:
            'Natural logarithm of the evidence that searches are not split over the arms as declared. From the ' +
            `threshold on, no difference between the arms can be trusted. ${RECORDED}`,
          unit: units.Short,
          width: 8,
          queries: [
            { expr: max('experiment', recorded('split_log_evidence:sum', EXPERIMENTS)), legend: '{{experiment}}' },
            { expr: `max(${recorded('evidence_threshold:max', 'test="split"')})`, legend: 'threshold' },
          ],
        }),
        'threshold',
      ),
      grid(
        {
          title: 'Split declared and got in the time range',
          description:
            'Share of the searches of an experiment that each arm was meant to get, and got, and how many these are, all ' +
            'replicas together. The arms of other experiments than the declared ones are not known.',
          unit: units.PercentUnit,
          width: 16,
          height: 8,
          queries: [
            { expr: max(arm, family('experiment_split', EXPERIMENTS)), legend: 'declared' },
            { expr: got, legend: 'got' },
            { expr: searches(arm), legend: 'n' },
          ],
        },
        ['experiment', 'variant'],
      )
        .decimals(2)
        .overrideByName('n', [{ id: 'unit', value: units.Short }, { id: 'decimals', value: 0 }]),
      course({
        title: 'Interleaving: preference',
        description:
          '(wins + ties / 2) / all interleaved searches - 1/2, since the start, all replicas together: above 0 for the ' +
          'team that people prefer. n is the number of these searches.',
        unit: units.PercentUnit,
        width: 8,
        min: -0.5,
        max: 0.5,
        queries: [
          { expr: withSampleSize('experiment', delta, reached(wins)), legend: '{{experiment}} {{team}} (n = {{n}})' },
        ],
      }),
      bars({
        title: 'Interleaved searches in the time range, by winner',
        description:
          'The team with more clicks than any other wins a search; `__tie__` where none has, also without any click.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: sum('experiment, team', added(wins)), legend: '{{experiment}} {{team}}' }],
      }).decimals(0),
      course({
        title: 'Agreement of production with the gold set',
        description:
          "Cohen's kappa of the grades given in production (judgment events) and the gold set's, relevant or not, since " +
          'the start, of each replica by itself: 1 is full agreement, 0 that of chance. n is the number of ' +
          'grades whose document the gold set knows.',
        unit: units.Short,
        width: 8,
        max: 1,
        queries: [
          {
            expr: withSampleSize('instance', max('instance', family('production_agreement_kappa')), reached(inGold)),
            legend: '{{instance}} (n = {{n}})',
          },
        ],
      }),
      matrix(
        {
          title: 'Judgements from production in the time range',
          description:
            'Grades given in production (rows) beside what the gold set says of the same document (columns), all ' +
            'replicas together. What is unjudged is where the gold set can grow: see `gold propose`.',
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [{ expr: sum('production, gold', added(judgements)), legend: '{{production}} / {{gold}}' }],
        },
        'production',
        'gold',
      ).decimals(0),
      grid(
        {
          title: 'Correlation of measures with satisfaction',
          description:
            "Spearman's rank correlation between the measure and how satisfied people were, over a rolling day, of each " +
            'replica by itself, and of how many searches. Empty below feedback.min_samples. A measure that does not go ' +
            'together with satisfaction is not worth optimising for.',
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: perReplica('satisfaction_correlation'), legend: 'correlation' },
            { expr: perReplica('satisfaction_correlation_samples'), legend: 'n' },
          ],
        },
        ['measure', 'instance'],
      )
        .decimals(3)
        .overrideByName('n', [{ id: 'decimals', value: 0 }]),
    ],
  };
}
