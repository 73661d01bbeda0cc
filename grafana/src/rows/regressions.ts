// Whether scores fell, or miss what was asked of them, and from when on that is no chance.

import * as units from '@grafana/grafana-foundation-sdk/units';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { course, grid, levels, RECORDED, type Row } from '../panels';
import { family, max, MEASURE, meanScore, min, rate, ratio, recorded, sum, VARIANTS, WHOLE } from '../promql';

/** A series that is watched. */
const SERIES = 'measure, variant, slice, value';

/** Text for evidence. */
const EVIDENCE =
  'The natural logarithm of the odds against chance. It may be looked at at any time: from the threshold on it is a ' +
  'decision, and an alert. Only of detection.measures.';

/** From where on `test` decides; of several deployments, the highest. */
function threshold(test: string): string {
  return `max(${recorded('evidence_threshold:max', `test="${test}"`)})`;
}

/** The row "Regressions". */
export function regressions(): Row {
  const DROP = 'drop_log_evidence:logsumexp';
  const TARGET = 'target_log_evidence:sum';
  const evidence = (title: string, test: string, series: string, description: string): Builder<Panel> =>
    levels(
      course({
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
    );
  const ofThreshold = (test: string, series: string) => {
    const limit = recorded('evidence_threshold:max', `test="${test}"`);
    return max(SERIES, `${recorded(series, VARIANTS)} / on (namespace, job) group_left () ${limit}`);
  };
  // Over several deployments, the widest.
  const lower = (labels: string, ...matchers: string[]) =>
    min(labels, recorded('score_bound:weighted', 'bound="lower"', VARIANTS, ...matchers));
  const upper = (labels: string, ...matchers: string[]) =>
    max(labels, recorded('score_bound:weighted', 'bound="upper"', VARIANTS, ...matchers));
  // Each replica learns from its own searches; what it learned counts by how many they were.
  const usual = (labels: string, ...matchers: string[]) => {
    const score = family('baseline_score', VARIANTS, ...matchers);
    const searches = family('baseline_searches', VARIANTS, ...matchers);
    return ratio(sum(labels, `${score} * ${searches}`), sum(labels, `${searches} and ${score}`));
  };
  return {
    title: 'Regressions',
    panels: [
      evidence(
        'Evidence of a drop of $measure',
        'drop',
        DROP,
        'That scores fell below what is usual, by more than detection.tolerance; by variant, and by slice where slices ' +
          'are watched. Absent until it has been learned what is usual.',
      ),
      evidence(
        'Evidence that $measure misses its target',
        'target',
        TARGET,
        'That the mean since the last deployment is below the lowest target of the measure; by variant, and by slice ' +
          'where slices are watched.',
      ),
      grid(
        {
          title: 'Evidence and bounds of all that is watched',
          description:
            'Evidence of a drop and of a missed target, each also as a share of its threshold (100 % and more: ' +
            'decided), and the bounds between which the mean since the last deployment lies, at whichever moment you ' +
            `look. ${RECORDED}`,
          unit: units.Short,
          width: 24,
          height: 8,
          queries: [
            { expr: max(SERIES, recorded(DROP, VARIANTS)), legend: 'drop' },
            { expr: ofThreshold('drop', DROP), legend: 'drop / threshold' },
            { expr: max(SERIES, recorded(TARGET, VARIANTS)), legend: 'target' },
            { expr: ofThreshold('target', TARGET), legend: 'target / threshold' },
            { expr: lower(SERIES), legend: 'mean at least' },
            { expr: upper(SERIES), legend: 'mean at most' },
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
      levels(
        course({
          title: 'Usual and present $measure',
          description:
            'Mean score at each moment, beside the mean that is usual for the variant (dashed). A drop is looked for ' +
            'query by query, so that a mean which moves with the mixture of queries is none.',
          unit: units.Short,
          width: 12,
          queries: [
            { expr: meanScore(rate, 'variant', MEASURE, WHOLE, VARIANTS), legend: '{{variant}}' },
            { expr: usual('variant', MEASURE), legend: 'usual: {{variant}}' },
          ],
        }),
        'usual: ',
      ),
      levels(
        course({
          title: 'Bounds of the mean of $measure',
          description:
            'Between what the mean of all searches since the last deployment lies; each bound holds at every look, ' +
            `with probability 1 - detection.alpha. The levels named "target" are what is asked for. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          queries: [
            { expr: lower('variant', MEASURE, WHOLE), legend: '{{variant}} at least' },
            { expr: upper('variant', MEASURE, WHOLE), legend: '{{variant}} at most' },
            { expr: max('tier', family('score_target', MEASURE)), legend: 'target: {{tier}}' },
          ],
        }),
        'target: ',
      ),
      grid(
        {
          title: 'What is usual, and what is still being learned',
          description:
            'The mean that is usual, the searches it was learned from (all replicas together), and whether every ' +
            'replica has learned it: until then drops are not looked for everywhere. detection.baseline_searches says ' +
            'how many searches of a variant teach it.',
          unit: units.Short,
          width: 12,
          height: 8,
          queries: [
            { expr: usual('measure, variant'), legend: 'usual' },
            { expr: sum('measure, variant', family('baseline_searches', VARIANTS)), legend: 'searches' },
            { expr: min('measure, variant', family('baseline_learned', VARIANTS)), legend: 'state' },
          ],
        },
        ['measure', 'variant'],
      )
        .decimals(3)
        .overrideByName('searches', [{ id: 'decimals', value: 0 }])
        .overrideByName('state', [
          {
            id: 'mappings',
            value: [
              {
                type: 'value',
                options: { '0': { text: 'learning', color: 'orange' }, '1': { text: 'learned', color: 'green' } },
              },
            ],
          },
          { id: 'custom.cellOptions', value: { type: 'color-text' } },
        ]),
      course({
        title: 'Regressions that single replicas see',
        description:
          'Series (measure, variant, slice) for which the evidence of a replica alone is at its threshold, by test and ' +
          'replica. The alerts decide on all replicas together, and so may know earlier.',
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [
          { expr: sum('test, instance', family('regression', VARIANTS)), legend: '{{test}} ({{instance}})' },
        ],
      }),
    ],
  };
}
