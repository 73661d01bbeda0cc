// Evaluators of answers and results against people.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, PER_REPLICA, RECORDED, referenceLines, type Row } from '../panels';
import { family, max, recorded } from '../promql';

/** The row "Evaluators". */
export function evaluators(): Row {
  return {
    title: 'Evaluators',
    panels: [
      referenceLines(
        chart({
          title: 'Evidence that the bias of an evaluator changed',
          description:
            'Evidence (natural log e-value) that the difference between an evaluator and people changed since its version ' +
            `began. At the threshold and above, its values are not comparable with those before. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          queries: [
            {
              expr: max('evaluator, version', recorded('evaluator_drift_log_evidence:logsumexp')),
              legend: '{{evaluator}} {{version}}',
            },
            { expr: `max(${recorded('evidence_threshold:max', 'test="evaluator"')})`, legend: 'threshold' },
          ],
        }),
        'threshold',
      ),
      chart({
        title: 'Bias of evaluators',
        description:
          'Mean difference of an evaluator from people since the start, by variant. Above 0 it is too high. Differences ' +
          `between variants beyond chance favour one of them. ${PER_REPLICA}`,
        unit: units.Short,
        width: 12,
        queries: [
          { expr: family('evaluator_error'), legend: '{{evaluator}} {{version}} {{variant}} ({{instance}})' },
        ],
      }),
      chart({
        title: 'Agreement of evaluators with people',
        description: `Cohen's kappa, high or low, since the start. 0 is chance agreement. ${PER_REPLICA}`,
        unit: units.Short,
        width: 12,
        max: 1,
        queries: [{ expr: family('evaluator_kappa'), legend: '{{evaluator}} {{version}} ({{instance}})' }],
      }),
      chart({
        title: 'Change of the bias since it drifted',
        description: `Estimate and confidence bounds, while there is an alarm. Below 0 the evaluator became lower. ${PER_REPLICA}`,
        unit: units.Short,
        width: 12,
        queries: [
          { expr: family('evaluator_drift_change'), legend: '{{evaluator}} {{version}} {{bound}} ({{instance}})' },
        ],
      }),
    ],
  };
}
