// What the parts of the ranking add: graph expansion, agents, other domains, as configured.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { bars, course, grid, type Row } from '../panels';
import { added, family, meanScore, type Over, rate, ratio, share, sum, VARIANTS, WHOLE } from '../promql';

const NEEDED = 'needed="true"';
const FIRED = 'fired="true"';

/** Text for what is known only where the gold set says whether a component is needed. */
const WHERE_STATED = 'Only searches whose gold query says whether the component is needed.';

/** The row "Components". */
export function components(): Row {
  const by = 'component, variant';
  const trigger = (over: Over, matchers: string[], ...within: string[]) =>
    share(over, by, 'component_trigger_total', matchers, [VARIANTS, ...within]);
  // Right is what ran when needed, and what kept still when not.
  const right = (over: Over) => {
    const cell = (needed: boolean) =>
      sum(by, over(family('component_trigger_total', VARIANTS, `needed="${needed}"`, `fired="${needed}"`)));
    const all = sum(by, over(family('component_trigger_total', VARIANTS)));
    return ratio(`((${cell(true)} or 0 * ${all}) + (${cell(false)} or 0 * ${all}))`, all);
  };
  const searches = (needed: boolean, fired: boolean) =>
    sum(by, added(family('component_trigger_total', VARIANTS, `needed="${needed}"`, `fired="${fired}"`)));
  const hops = sum('component, hops', added(family('component_hops_total', VARIANTS)));
  const allHops = sum('component', added(family('component_hops_total', VARIANTS)));
  const scores = (title: string, names: string, description: string) =>
    course({
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
          title: 'Trigger: needed and run, in the time range',
          description:
            'Searches by whether the gold set says that the component is needed and whether it ran; accuracy is the ' +
            `share on the right side, precision what was needed of what ran, recall what ran of what was needed. ${WHERE_STATED}`,
          unit: units.Short,
          width: 24,
          height: 8,
          queries: [
            { expr: searches(true, true), legend: 'needed, ran' },
            { expr: searches(true, false), legend: 'needed, silent' },
            { expr: searches(false, true), legend: 'not needed, ran' },
            { expr: searches(false, false), legend: 'not needed, silent' },
            { expr: right(added), legend: 'accuracy' },
            { expr: trigger(added, [NEEDED], FIRED), legend: 'precision' },
            { expr: trigger(added, [FIRED], NEEDED), legend: 'recall' },
          ],
        },
        ['component', 'variant'],
      )
        .decimals(0)
        .overrideByRegexp('/^(accuracy|precision|recall)$/', [
          { id: 'unit', value: units.PercentUnit },
          { id: 'decimals', value: 1 },
        ]),
      course({
        title: 'Trigger accuracy',
        description: `Share of searches in which the component ran exactly when it was needed. ${WHERE_STATED}`,
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        max: 1,
        queries: [{ expr: right(rate), legend: '{{component}} · {{variant}}' }],
      }),
      course({
        title: 'Trigger rate',
        description: `Share of searches in which the component ran, needed or not. ${WHERE_STATED}`,
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        max: 1,
        queries: [{ expr: trigger(rate, [FIRED]), legend: '{{component}} · {{variant}}' }],
      }),
      bars({
        title: 'Hops in the time range',
        description:
          'How far away from where the search began the component found its results, as a share of those whose ' +
          'distance is known. Distance 0 is in the measure Hops but in none of these.',
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
        'Relevant documents that only the component found / all relevant documents, mean over searches.',
      ),
      scores(
        'Precision of components and of the rest',
        'ComponentP|BaseP',
        "Relevant results / results of the component (ComponentP) and of everything else (BaseP), mean over the searches that had any.",
      ),
      scores(
        'What components gain',
        'RecallGain|RecallDelta|PGain|nDCGGain',
        'How much better the measure is with the component than without it, mean over searches. Below 0 it does harm.',
      ),
    ],
  };
}
