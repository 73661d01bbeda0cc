// Regression evidence: drops below the baseline, missed targets and open incidents.

import * as units from '@grafana/grafana-foundation-sdk/units';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import { LegendPlacement, VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { incidentsLink, queriesLink } from '../links';
import { chart, grid, RECORDED, referenceLines, type Row, states } from '../panels';
import { avg, family, max, meanScore, MEASURE, min, rate, ratio, recorded, sum, VARIANTS, WHOLE } from '../promql';

/** Labels of a monitored series. */
const SERIES = 'measure, variant, slice, value';

/** Description of evidence. */
const EVIDENCE =
  'Regression evidence is a natural log e-value. It is anytime-valid: continuous monitoring does not raise the ' +
  'false-alarm rate. At the threshold an alert fires. Only for detection.measures.';

/** Alarm threshold of `test`; the highest of several deployments. */
function threshold(test: string): string {
  return `max(${recorded('evidence_threshold:max', `test="${test}"`)})`;
}

/** The row "Regressions". */
export function regressions(): Row {
  const DROP = 'drop_log_evidence:logsumexp';
  const TARGET = 'target_log_evidence:logmeanexp';
  const evidence = (title: string, test: string, series: string, description: string): Builder<Panel> =>
    referenceLines(
      chart({
        title,
        description: `${description} ${EVIDENCE} ${RECORDED}`,
        unit: units.Short,
        width: 12,
        queries: [
          { expr: max('variant', recorded(series, MEASURE, WHOLE, VARIANTS)), legend: '{{variant}}' },
          {
            expr: max('variant, slice, value', recorded(series, MEASURE, 'slice!="all"', VARIANTS)),
            legend: '{{variant}} · {{slice}} {{value}}',
          },
          { expr: threshold(test), legend: 'threshold' },
        ],
      }),
      'threshold',
    ).dataLinks([queriesLink()]);
  const ofThreshold = (test: string, series: string) => {
    const limit = recorded('evidence_threshold:max', `test="${test}"`);
    return max(SERIES, `${recorded(series, VARIANTS)} / on (cluster, namespace, job) group_left () ${limit}`);
  };
  // The widest bounds of several deployments.
  const lower = (labels: string, ...matchers: string[]) =>
    min(labels, recorded('score_bound:weighted', 'bound="lower"', VARIANTS, ...matchers));
  const upper = (labels: string, ...matchers: string[]) =>
    max(labels, recorded('score_bound:weighted', 'bound="upper"', VARIANTS, ...matchers));
  // Each replica has baselines from its own searches. They are weighted by the number of these searches.
  const baseline = (labels: string, ...matchers: string[]) => {
    const score = family('baseline_score', VARIANTS, ...matchers);
    const searches = family('baseline_searches', VARIANTS, ...matchers);
    return ratio(sum(labels, `${score} * ${searches}`), sum(labels, `${searches} and ${score}`));
  };
  const loss = (bound: string) => avg(SERIES, recorded('incident_loss:avg', `bound="${bound}"`, VARIANTS));
  return {
    title: 'Regressions',
    panels: [
      evidence(
        'Evidence of a drop of $measure',
        'drop',
        DROP,
        'Evidence that scores fell below the baseline by more than detection.tolerance, by variant and by monitored slice. ' +
          'Absent before a query was searched a second time.',
      ),
      evidence(
        'Evidence that $measure misses its target',
        'target',
        TARGET,
        'Evidence that the mean since the last deployment is worse than the least demanding target of the measure, by ' +
          'variant and by monitored slice.',
      ),
      states(
        {
          title: 'Class of a drop of $measure',
          description:
            'Cause of a drop with an alarm. Worse: the score fell even if every unjudged result is relevant. More unjudged ' +
            'results: the share of judged results fell, and this upper bound did not; judge the new documents first. ' +
            'Undecided: neither fell enough yet. An incident keeps the strongest class of its primary measure. ' +
            `Only for detection.measures. ${RECORDED}`,
          unit: units.Short,
          width: 24,
          height: 6,
          queries: [
            { expr: max('variant', recorded('drop_class:max', MEASURE, WHOLE, VARIANTS)), legend: '{{variant}}' },
            {
              expr: max('variant, slice, value', recorded('drop_class:max', MEASURE, 'slice!="all"', VARIANTS)),
              legend: '{{variant}} · {{slice}} {{value}}',
            },
          ],
        },
        [
          { from: 0, text: 'no alarm', color: 'transparent' },
          { from: 1, text: 'undecided', color: 'yellow' },
          { from: 2, text: 'more unjudged results', color: 'orange' },
          { from: 3, text: 'worse', color: 'red' },
        ],
      )
        // Ids of later panels stay as they are, because alerts link to them.
        .id(1001)
        .noValue('no search was compared with a baseline in this range')
        .legend(new VizLegendOptionsBuilder().showLegend(true).placement(LegendPlacement.Bottom))
        .dataLinks([incidentsLink()]),
      grid(
        {
          title: 'Regression evidence and confidence bounds',
          description:
            'Evidence of a drop and of a missed target, each also as a share of its threshold (an alert fires at 100 %), ' +
            `and the anytime-valid confidence bounds of the mean since the last deployment. ${RECORDED}`,
          unit: units.Short,
          width: 24,
          height: 8,
          queries: [
            { expr: max(SERIES, recorded(DROP, VARIANTS)), legend: 'drop' },
            { expr: ofThreshold('drop', DROP), legend: 'drop / threshold' },
            { expr: max(SERIES, recorded(TARGET, VARIANTS)), legend: 'target' },
            { expr: ofThreshold('target', TARGET), legend: 'target / threshold' },
            { expr: lower(SERIES), legend: 'lower bound' },
            { expr: upper(SERIES), legend: 'upper bound' },
          ],
        },
        ['measure', 'variant', 'slice', 'value'],
      )
        .decimals(3)
        .overrideByRegexp('/ threshold$/', [
          { id: 'unit', value: units.PercentUnit },
          { id: 'decimals', value: 0 },
          { id: 'custom.cellOptions', value: { type: 'color-text' } },
          {
            id: 'thresholds',
            value: { mode: 'absolute', steps: [{ value: null, color: 'text' }, { value: 1, color: 'red' }] },
          },
        ]),
      referenceLines(
        chart({
          title: 'Baseline and current $measure',
          description:
            'Mean score over time, and mean of the baselines of all queries (dashed), with at most 100 searches a query. ' +
            'Drops are detected query by query, so a change in the mixture of queries is not a drop.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(rate, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
            { expr: baseline('variant', MEASURE), legend: 'baseline: {{variant}}' },
          ],
        }),
        'baseline: ',
      ),
      referenceLines(
        chart({
          title: 'Confidence bounds of the mean of $measure',
          description:
            'Confidence bounds of the mean of all searches since the last deployment. Each bound is anytime-valid: it holds ' +
            'at all times together with probability 1 - detection.alpha. The dashed lines named "target" are the ' +
            `configured targets. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          queries: [
            { expr: lower('variant', MEASURE, WHOLE), legend: '{{variant}} lower' },
            { expr: upper('variant', MEASURE, WHOLE), legend: '{{variant}} upper' },
            { expr: max('tier', family('score_target', MEASURE)), legend: 'target: {{tier}}' },
          ],
        }),
        'target: ',
      ),
      grid(
        {
          title: 'Baselines',
          description:
            'Mean of the baselines, number of searches in them, and number of queries, over all workers of all replicas. A ' +
            'query is compared from its second search on; its baseline is fixed after 100.',
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: baseline('measure, variant'), legend: 'baseline' },
            { expr: sum('measure, variant', family('baseline_searches', VARIANTS)), legend: 'searches' },
            { expr: sum('measure, variant', family('baseline_queries', VARIANTS)), legend: 'queries' },
          ],
        },
        ['measure', 'variant'],
      )
        .decimals(3)
        .overrideByName('searches', [{ id: 'decimals', value: 0 }])
        .overrideByName('queries', [{ id: 'decimals', value: 0 }]),
      grid(
        {
          title: 'Open incidents',
          description:
            'Drops with a beginning and no end, by measure and slice: loss of the current searches against the mean of their ' +
            'query before the beginning, with its interval of 95 %, and the estimated beginning. The live page has the ' +
            `queries that lost most, the causes and the deployments. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: loss('estimate'), legend: 'loss now' },
            { expr: loss('lower'), legend: 'at least' },
            { expr: loss('upper'), legend: 'at most' },
            {
              expr: `${min(SERIES, recorded('incident_start_timestamp_seconds:min', VARIANTS))} * 1000`,
              legend: 'since',
            },
          ],
        },
        ['variant', 'measure', 'slice', 'value'],
      )
        .decimals(3)
        .overrideByName('since', [{ id: 'unit', value: 'dateTimeFromNow' }])
        .dataLinks([incidentsLink()]),
    ],
  };
}
