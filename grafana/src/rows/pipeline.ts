// Whether the numbers can be trusted: what arrived, what waits, what was lost.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, type Row } from '../panels';
import { family, max, orZero, processMetric, rate, sum } from '../promql';

/** The row "Pipeline". */
export function pipeline(): Row {
  return {
    title: 'Pipeline',
    panels: [
      course({
        title: 'Events by outcome',
        description:
          'Records per second by what became of them. Every record has exactly one outcome: those received are ' +
          'all outcomes and the pending ones added up. A search has its outcome once its feedback window has passed.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [{ expr: sum('kind, outcome', rate(family('events_total'))), legend: '{{kind}} {{outcome}}' }],
      }),
      course({
        title: 'Invalid events',
        description: 'Events that could not be used, by what is wrong with them. `none` is what a clean stream shows.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [
          {
            expr: orZero(sum('kind, reason', rate(family('invalid_events_total'))), 'reason'),
            legend: '{{kind}} {{reason}}',
          },
        ],
      }),
      course({
        title: 'Pending events',
        description: 'Searches whose feedback is still awaited, and feedback that awaits its search.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: sum('kind', family('events_pending')), legend: '{{kind}}' }],
      }),
      course({
        title: 'Consumer lag',
        description: 'Records in Kafka that no replica has read yet, by topic.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: sum('topic', family('consumer_lag_records')), legend: '{{topic}}' }],
      }),
      course({
        title: 'Watermark delay',
        description:
          'How far the slowest partition\'s watermark is behind the wall clock. At rest it is the allowed ' +
          'disorder (30 seconds unless configured) and the time between events.',
        unit: units.Seconds,
        width: 8,
        queries: [{ expr: max('instance', family('watermark_delay_seconds')), legend: '{{instance}}' }],
      }),
      course({
        title: 'Age of the published snapshot',
        description: 'Workers publish about once a second. An age that grows is a worker that hangs.',
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [
          { expr: max('instance, worker', family('snapshot_age_seconds')), legend: '{{instance}} worker {{worker}}' },
        ],
      }),
      course({
        title: 'Kafka connection',
        description: '1 while the worker is connected to the cluster, 0 while it keeps trying.',
        unit: units.Short,
        width: 6,
        min: 0,
        max: 1,
        queries: [{ expr: family('kafka_connected'), legend: '{{instance}} worker {{worker}}' }],
      }),
      course({
        title: 'Assigned partitions',
        description: 'Partitions that each replica reads, of both topics together as one. They move when a replica joins or leaves.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [{ expr: sum('instance', family('assigned_partitions')), legend: '{{instance}}' }],
      }),
      course({
        title: 'Lost and limited',
        description:
          'Per second: offsets that Kafka never delivered, searches finalised before their ' +
          'window closed because too many were pending, and samples sent to `__other__` by the limit on series. ' +
          'All three belong at 0.',
        unit: units.CountsPerSecond,
        width: 6,
        min: 0,
        queries: [
          { expr: orZero(sum('topic', rate(family('offset_gap_records_total'))), 'topic'), legend: 'offset gap {{topic}}' },
          { expr: `sum(${rate(family('finalised_early_total'))})`, legend: 'finalised early' },
          { expr: orZero(sum('family', rate(family('series_dropped_total'))), 'family'), legend: 'series limit {{family}}' },
        ],
      }),
      course({
        title: 'Rebalances',
        description: 'Changes of the partition assignment in the time of one point. Frequent ones cost throughput.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [
          { expr: sum('instance', `increase(${family('rebalances_total')}[$__rate_interval])`), legend: '{{instance}}' },
        ],
      }),
      course({
        title: 'Memory',
        description: 'Resident memory of each replica. Flat at constant traffic.',
        unit: units.BytesIEC,
        width: 12,
        min: 0,
        queries: [{ expr: processMetric('resident_memory_bytes'), legend: '{{instance}}' }],
      }),
      course({
        title: 'Processor',
        description: 'Cores each replica uses.',
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [{ expr: rate(processMetric('cpu_seconds_total')), legend: '{{instance}}' }],
      }),
    ],
  };
}
