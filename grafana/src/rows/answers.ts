// Answers of models beside the ranking that they were given from.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, type Row } from '../panels';
import { meanScore, MEASURE, rate, VARIANTS, WHOLE } from '../promql';

/** Measures of citations, with any parameters. */
const CITATIONS = 'measure=~"(CitationP|CitationR|CitationF1|CitedServed|Grounded).*"';

/** Measures from 0 to 1 of the overlap with references, with any parameters. */
const OVERLAP = 'measure=~"(ExactMatch|TokenF1|ROUGE|Contains).*"';

/** Values of evaluators. */
const VALUES = 'measure=~"Evaluation.*"';

/** The row "Answers". */
export function answers(): Row {
  const of = (measures: string) => ({
    expr: meanScore(rate, 'measure, variant', measures, WHOLE, VARIANTS),
    legend: '{{measure}} · {{variant}}',
  });
  return {
    title: 'Answers',
    panels: [
      chart({
        title: 'Citations beside $measure',
        description:
          'Mean scores of the citations of answers, and of the ranking they were given from. Citations that fall while ' +
          '$measure stays are a fault of the model or its prompt, and not of the search.',
        unit: units.Short,
        width: 12,
        queries: [
          of(CITATIONS),
          {
            expr: meanScore(rate, 'variant', MEASURE, WHOLE, VARIANTS),
            legend: '$measure · {{variant}}',
          },
        ],
      }),
      chart({
        title: 'Overlap of answers with references',
        description:
          'Mean over the answers to gold queries with references. BLEU and chrF are from 0 to 100 and are shown by the ' +
          'row Quality.',
        unit: units.Short,
        width: 12,
        max: 1,
        queries: [of(OVERLAP)],
      }),
      chart({
        title: 'Refusals by answerable',
        description:
          'Share of the answers that decline, for queries that the documents answer (true) and others (false). It should ' +
          'be low for the first and high for the second. It needs the slice answerable.',
        unit: units.PercentUnit,
        width: 12,
        max: 1,
        queries: [
          {
            expr: meanScore(rate, 'value, variant', 'measure="Refusal"', 'slice="answerable"', VARIANTS),
            legend: '{{value}} · {{variant}}',
          },
        ],
      }),
      chart({
        title: 'Values of evaluators',
        description:
          'Mean values of answers by evaluator and property, as the evaluator states them. The row Evaluators shows ' +
          'their agreement with people.',
        unit: units.Short,
        width: 12,
        max: 1,
        queries: [of(VALUES)],
      }),
    ],
  };
}
