// Micro averages: precision and recall over the documents of all searches.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, type Row } from '../panels';
import { CUTOFF, family, rate, ratio, share, sum, VARIANTS, WHOLE } from '../promql';

/** The row "Micro averages". */
export function micro(): Row {
  const within = [CUTOFF, WHOLE, VARIANTS];
  const documents = (outcome: string) =>
    sum('variant', rate(family('documents_total', ...within, `outcome=~"${outcome}"`)));
  const found = ['outcome="tp"'];
  const panel = (title: string, description: string, expr: string) =>
    chart({
      title: `${title} at $cutoff`,
      description: `${description} A search with many documents has more weight than a search with few.`,
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
        'Share of relevant documents among all documents within the cutoff.',
        share(rate, 'variant', 'documents_total', found, [...within, 'outcome=~"tp|fp"']),
      ),
      panel(
        'Micro recall',
        'Share of all relevant documents of the queries that was found within the cutoff.',
        share(rate, 'variant', 'documents_total', found, [...within, 'outcome=~"tp|fn"']),
      ),
      panel(
        'Micro F1',
        'Harmonic mean of micro precision and micro recall: 2 TP / (2 TP + FP + FN).',
        ratio(`2 * ${documents('tp')}`, `(${documents('tp')} + ${documents('tp|fp|fn')})`),
      ),
    ],
  };
}
