// Differences between arms and control, split of the traffic, and agreement of the measures with
// users.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, chart, grid, matrix, RECORDED, referenceLines, type Row } from '../panels';
import { EXPERIMENTS, family, increase, max, MEASURE, recorded, sum, valueAtEnd, VARIANTS, withSampleSize } from '../promql';

const DIFFERENCE = 'experiment_difference:avg';

/** The row "Experiments and agreement". */
export function experiments(): Row {
  const difference = (labels: string, bound: 'lower' | 'estimate' | 'upper', ...matchers: string[]) =>
    max(labels, recorded(DIFFERENCE, EXPERIMENTS, VARIANTS, `bound="${bound}"`, ...matchers));
  const arm = 'experiment, variant';
  const pair = 'experiment, measure, variant';

  // A share needs the sessions of all arms.
  const sessions = (labels: string) => sum(labels, increase(family('experiment_sessions_total', EXPERIMENTS)));
  const actual = `${sessions(arm)} / on (experiment) group_left () (${sessions('experiment')} > 0)`;

  // By experiment: (wins + ties / 2) / all - 1/2, since the start of each replica.
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
      referenceLines(
        chart({
          title: 'Difference of $measure from the control',
          description:
            'Mean of each arm minus the mean of the control, since the start, with anytime-valid bounds: they can be read ' +
            'at any time. While 0 lies between the bounds, there is no decision. Absent below about 100 users per arm. ' +
            `${RECORDED}`,
          unit: units.Short,
          width: 12,
          queries: [
            { expr: difference(arm, 'lower', MEASURE), legend: 'lower: {{experiment}} {{variant}}' },
            { expr: difference(arm, 'estimate', MEASURE), legend: '{{experiment}} {{variant}}' },
            { expr: difference(arm, 'upper', MEASURE), legend: 'upper: {{experiment}} {{variant}}' },
          ],
        }),
        'lower: |upper: ',
      ),
      grid(
        {
          title: 'All measures against the control',
          description:
            'Difference of each arm from the control since the start, its bounds, and the evidence (natural log e-value) ' +
            `that the arm is worse, of guardrails. Whether higher is better depends on the measure. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: difference(pair, 'lower'), legend: 'lower' },
            { expr: difference(pair, 'estimate'), legend: 'difference' },
            { expr: difference(pair, 'upper'), legend: 'upper' },
            { expr: max(pair, recorded('experiment_log_evidence:logmeanexp', EXPERIMENTS, VARIANTS)), legend: 'evidence' },
          ],
        },
        ['experiment', 'measure', 'variant'],
      )
        .decimals(4)
        .overrideByName('evidence', [{ id: 'decimals', value: 1 }]),
      referenceLines(
        chart({
          title: 'Evidence of a sample ratio mismatch',
          description:
            'Evidence (natural log e-value) that users (or sessions) are not split over the arms as declared. At the threshold and ' +
            `above, differences between the arms are not valid. ${RECORDED}`,
          unit: units.Short,
          width: 8,
          queries: [
            { expr: max('experiment', recorded('split_log_evidence:logmeanexp', EXPERIMENTS)), legend: '{{experiment}}' },
            { expr: `max(${recorded('evidence_threshold:max', 'test="split"')})`, legend: 'threshold' },
          ],
        }),
        'threshold',
      ),
      grid(
        {
          title: 'Declared and actual split in the time range',
          description:
            'Declared share of the users (or sessions) of an experiment, actual share and number by arm, over all ' +
            'replicas. Only declared experiments are shown.',
          unit: units.PercentUnit,
          width: 16,
          height: 8,
          queries: [
            { expr: max(arm, family('experiment_split', EXPERIMENTS)), legend: 'declared' },
            { expr: actual, legend: 'actual' },
            { expr: sessions(arm), legend: 'n' },
          ],
        },
        ['experiment', 'variant'],
      )
        .decimals(2)
        .overrideByName('n', [{ id: 'unit', value: units.Short }, { id: 'decimals', value: 0 }]),
      chart({
        title: 'Interleaving: preference',
        description:
          '(wins + ties / 2) / all interleaved sessions - 1/2, since the start, over all replicas. Above 0 if users prefer ' +
          'the team. n is the number of interleaved sessions.',
        unit: units.PercentUnit,
        width: 8,
        min: -0.5,
        max: 0.5,
        queries: [
          { expr: withSampleSize('experiment', delta, valueAtEnd(wins)), legend: '{{experiment}} {{team}} (n = {{n}})' },
        ],
      }),
      bars({
        title: 'Interleaved sessions in the time range, by winner',
        description:
          'The team with more distinct clicked results than any other wins the session. `__tie__` if no team has, including ' +
          'sessions without a click. A search without a session is one.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: sum('experiment, team', increase(wins)), legend: '{{experiment}} {{team}}' }],
      }).decimals(0),
      referenceLines(
        chart({
          title: 'Evidence of a preferred ranking',
          description:
            'Evidence (natural log e-value) that users prefer one of two teams. At the threshold and above, the experiment ' +
            `can end. ${RECORDED}`,
          unit: units.Short,
          width: 8,
          queries: [
            {
              expr: max('experiment, team, against', recorded('interleaving_log_evidence:logmeanexp', EXPERIMENTS)),
              legend: '{{experiment}} {{team}} against {{against}}',
            },
            { expr: `max(${recorded('evidence_threshold:max', 'test="interleaving"')})`, legend: 'threshold' },
          ],
        }),
        'threshold',
      ),
      chart({
        title: 'Agreement of production judgements with the gold set',
        description:
          "Cohen's kappa between production judgements (judgment events) and the gold set, relevant or not relevant, since " +
          'the start, by replica. 1 is full agreement, 0 is chance agreement. n is the number of judgements whose document ' +
          'is in the gold set.',
        unit: units.Short,
        width: 8,
        max: 1,
        queries: [
          {
            expr: withSampleSize('instance', max('instance', family('evaluator_kappa', 'evaluator="__people__"')), valueAtEnd(inGold)),
            legend: '{{instance}} (n = {{n}})',
          },
        ],
      }),
      matrix(
        {
          title: 'Production judgements in the time range',
          description:
            'Production judgements (rows) and the judgement of the same document in the gold set (columns), over all ' +
            'replicas. Use `gold propose` to add unjudged documents to the gold set.',
          unit: units.Short,
          width: 8,
          height: 8,
          queries: [{ expr: sum('production, gold', increase(judgements)), legend: '{{production}} / {{gold}}' }],
        },
        'production',
        'gold',
      ).decimals(0),
      grid(
        {
          title: 'Correlation of measures with satisfaction',
          description:
            "Spearman's rank correlation between the measure and user satisfaction over a rolling day, by replica, and the " +
            'number of searches. Empty below feedback.min_samples. Do not optimise for a measure that does not correlate ' +
            'with satisfaction.',
          unit: units.Short,
          width: 8,
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
