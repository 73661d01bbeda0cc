// All traffic, also queries outside of the gold set.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, PER_REPLICA, RECORDED, referenceLines, type Row } from '../panels';
import { family, max, recorded, VARIANTS } from '../promql';

/** The row "All traffic". */
export function allTraffic(): Row {
  return {
    title: 'All traffic',
    panels: [
      chart({
        title: 'Quality of all traffic, from labels',
        description:
          'Estimate and anytime-valid 95 % interval in the newest window of which half of the requested labels are there. ' +
          PER_REPLICA,
        unit: units.Short,
        width: 12,
        min: 0,
        max: 1,
        queries: [{ expr: family('quality', VARIANTS), legend: '{{measure}} {{variant}} {{bound}} ({{instance}})' }],
      }),
      chart({
        title: 'Labels requested and answered',
        description:
          'Labels of the window of the estimate. ' + PER_REPLICA,
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [
          { expr: family('quality_labels', VARIANTS), legend: '{{variant}} {{state}} ({{instance}})' },
        ],
      }),
      referenceLines(
        chart({
          title: 'Evidence of a drop of the quality of all traffic',
          description:
            'Regression evidence (natural log e-value) that the estimate from labels is lower than in the windows before. An ' +
            `alert fires at the threshold. ${RECORDED}`,
          unit: units.Short,
          width: 24,
          queries: [
            {
              expr: max('measure, variant', recorded('quality_drop_log_evidence:logmeanexp', VARIANTS)),
              legend: '{{measure}} {{variant}}',
            },
            { expr: `max(${recorded('evidence_threshold:max', 'test="target"')})`, legend: 'threshold' },
          ],
        }),
        'threshold',
      ).id(1002),
      chart({
        title: 'Head queries whose list changed since the version before',
        description:
          'Share of the frequent queries whose list changed beyond the noise of the index, with its 95 % interval. A ' +
          `change can be better or worse. ${PER_REPLICA}`,
        unit: units.PercentUnit,
        width: 12,
        min: 0,
        max: 1,
        queries: [{ expr: family('list_changed_ratio', VARIANTS), legend: '{{variant}} {{bound}} ({{instance}})' }],
      }),
      chart({
        title: 'Overlap of lists with the version before',
        description:
          'Mean share of common results, and rank-biased overlap, of the lists of frequent queries. ' + PER_REPLICA,
        unit: units.PercentUnit,
        width: 12,
        min: 0,
        max: 1,
        queries: [
          {
            expr: family('list_overlap', VARIANTS, 'bound="mean"'),
            legend: '{{variant}} overlap ({{instance}})',
          },
          { expr: family('list_rbo', VARIANTS, 'bound="mean"'), legend: '{{variant}} RBO ({{instance}})' },
        ],
      }),
    ],
  };
}
