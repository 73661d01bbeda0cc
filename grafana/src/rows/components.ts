// Contribution of the configured components of the ranking: graph expansion, agents, other domains.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, chart, grid, type Row } from '../panels';
import { family, increase, meanScore, type Over, rate, ratio, share, sum, VARIANTS, WHOLE } from '../promql';

const NEEDED = 'needed="true"';
const FIRED = 'fired="true"';

/** Description of panels that need the gold set to state whether a component is needed. */
const WHERE_STATED = 'Only searches whose gold query states whether the component is needed.';

/** The row "Components". */
export function components(): Row {
  const by = 'component, variant';
  const trigger = (over: Over, matchers: string[], ...within: string[]) =>
    share(over, by, 'component_trigger_total', matchers, [VARIANTS, ...within]);
  // Correct: the component ran when needed, or did not run when not needed.
  const correct = (over: Over) => {
    const cell = (needed: boolean) =>
      sum(by, over(family('component_trigger_total', VARIANTS, `needed="${needed}"`, `fired="${needed}"`)));
    const all = sum(by, over(family('component_trigger_total', VARIANTS)));
    return ratio(`((${cell(true)} or 0 * ${all}) + (${cell(false)} or 0 * ${all}))`, all);
  };
  const searches = (needed: boolean, fired: boolean) =>
    sum(by, increase(family('component_trigger_total', VARIANTS, `needed="${needed}"`, `fired="${fired}"`)));
  const hops = sum('component, hops', increase(family('component_hops_total', VARIANTS)));
  const allHops = sum('component', increase(family('component_hops_total', VARIANTS)));
  const scores = (title: string, names: string, description: string) =>
    chart({
      title,
      description,
      unit: units.PercentUnit,
      width: 8,
      queries: [
        {
          expr: meanScore(rate, 'measure, variant', `measure=~"(${names}).+"`, WHOLE, VARIANTS),
          legend: '{{measure}} · {{variant}}',
        },
      ],
    });
  return {
    title: 'Components',
    panels: [
      grid(
        {
          title: 'Trigger confusion matrix in the time range',
          description:
            'Searches by whether the component is needed according to the gold set and whether it ran. Accuracy: share of ' +
            'correct decisions. Precision: share of needed among run. Recall: share of run among needed. ' +
            `${WHERE_STATED}`,
          unit: units.Short,
          width: 24,
          height: 8,
          queries: [
            { expr: searches(true, true), legend: 'needed, ran' },
            { expr: searches(true, false), legend: 'needed, not run' },
            { expr: searches(false, true), legend: 'not needed, ran' },
            { expr: searches(false, false), legend: 'not needed, not run' },
            { expr: correct(increase), legend: 'accuracy' },
            { expr: trigger(increase, [NEEDED], FIRED), legend: 'precision' },
            { expr: trigger(increase, [FIRED], NEEDED), legend: 'recall' },
          ],
        },
        ['component', 'variant'],
      )
        .decimals(0)
        .overrideByRegexp('/^(accuracy|precision|recall)$/', [
          { id: 'unit', value: units.PercentUnit },
          { id: 'decimals', value: 1 },
        ]),
      chart({
        title: 'Trigger accuracy',
        description: `Share of searches in which the component ran if and only if it was needed. ${WHERE_STATED}`,
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        max: 1,
        queries: [{ expr: correct(rate), legend: '{{component}} · {{variant}}' }],
      }),
      chart({
        title: 'Trigger rate',
        description: `Share of searches in which the component ran, whether needed or not. ${WHERE_STATED}`,
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        max: 1,
        queries: [{ expr: trigger(rate, [FIRED]), legend: '{{component}} · {{variant}}' }],
      }),
      bars({
        title: 'Hops in the time range',
        description:
          'Distance of the component\'s results from the start of the search, as a share of the results with a known ' +
          'distance. The measure Hops includes distance 0, this panel does not.',
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        max: 1,
        queries: [
          { expr: `${hops} / on (component) group_left () (${allHops} > 0)`, legend: '{{component}} · {{hops}}' },
        ],
      }),
      scores(
        'Discovery',
        'Discovery',
        'Relevant documents found only by the component / all relevant documents, mean over searches.',
      ),
      scores(
        'Component and base precision',
        'ComponentP|BaseP',
        'Relevant results / results of the component (ComponentP) and of the base (BaseP), mean over searches with such results.',
      ),
      scores(
        'Component gain',
        'RecallGain|RecallDelta|PGain|nDCGGain',
        'Difference of the measure with and without the component, mean over searches. Below 0 the component is harmful.',
      ),
    ],
  };
}
