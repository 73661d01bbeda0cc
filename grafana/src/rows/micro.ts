// Precision and recall of all searches' documents taken together.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, type Row } from '../panels';
import { CUTOFF, family, rate, ratio, share, sum, VARIANTS, WHOLE } from '../promql';

/** The row "Micro averages". */
export function micro(): Row {
  const within = [CUTOFF, WHOLE, VARIANTS];
  const documents = (outcome: string) =>
    sum('variant', rate(family('documents_total', ...within, `outcome=~"${outcome}"`)));
  const found = ['outcome="tp"'];
  const panel = (title: string, description: string, expr: string) =>
    course({
      title: `${title} at $cutoff`,
      description: `${description} A search with many documents weighs more than one with few.`,
      unit: units.PercentUnit,
      width: 8,
      min: 0,
      max: 1,
      queries: [{ expr, legend: '{{variant}}' }],
    });
  return {
    title: 'Micro averages',
    panels: [
      panel(
        'Micro precision',
        'Of all documents that searches showed within the cutoff, the share that is relevant.',
        share(rate, 'variant', 'documents_total', found, [...within, 'outcome=~"tp|fp"']),
      ),
      panel(
        'Micro recall',
        'Of all relevant documents of the queries that were asked, the share shown within the cutoff.',
        share(rate, 'variant', 'documents_total', found, [...within, 'outcome=~"tp|fn"']),
      ),
      panel(
        'Micro F1',
        'The harmonic mean of micro precision and micro recall: 2 TP / (2 TP + FP + FN).',
        ratio(`2 * ${documents('tp')}`, `(${documents('tp')} + ${documents('tp|fp|fn')})`),
      ),
    ],
  };
}
