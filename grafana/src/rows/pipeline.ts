// Health of the measurement: records received, pending and lost.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, type Row, states } from '../panels';
import { family, max, orZero, processMetric, rate, sum } from '../promql';

/** The row "Pipeline". */
export function pipeline(): Row {
  return {
    title: 'Pipeline',
    panels: [
      chart({
        title: 'Events by outcome',
        description:
          'Records per second by outcome. Every record gets exactly one outcome: all outcomes and the pending events add ' +
          'up to the records received. A search gets its outcome when its feedback window has passed.',
        unit: units.CountsPerSecond,
        width: 8,
        min: 0,
        queries: [{ expr: sum('kind, outcome', rate(family('events_total'))), legend: '{{kind}} {{outcome}}' }],
      }),
      chart({
        title: 'Invalid events',
        description: 'Records that cannot be used, by reason. `none` means that there are no invalid records.',
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
      chart({
        title: 'Pending events',
        description: 'Searches waiting for the end of their feedback window, and feedback waiting for its search.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [{ expr: sum('kind', family('events_pending')), legend: '{{kind}}' }],
      }),
      chart({
        title: 'Consumer lag',
        description:
          'Records in Kafka that are not yet read, by topic. With kafka.join: repartition, also those that the ' +
          'forwarders have not yet copied.',
        unit: units.Short,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('topic', family('consumer_lag_records')), legend: '{{topic}}' },
          { expr: sum('topic', family('forwarder_lag_records')), legend: '{{topic}} not copied' },
        ],
      }),
      chart({
        title: 'Watermark delay',
        description:
          'Delay of the slowest partition\'s watermark behind the wall clock. Without lag it is ' +
          'engine.out_of_orderness (default 30 seconds) plus the time between events.',
        unit: units.Seconds,
        width: 8,
        queries: [{ expr: max('instance', family('watermark_delay_seconds')), legend: '{{instance}}' }],
      }),
      chart({
        title: 'Age of the published snapshot',
        description: 'Workers publish about once per second. The age grows while a worker hangs.',
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [
          { expr: max('instance, worker', family('snapshot_age_seconds')), legend: '{{instance}} worker {{worker}}' },
        ],
      }),
      states(
        {
          title: 'Kafka connection',
          description: 'Connection of each worker to the cluster over time. A gap: the replica was not scraped.',
          unit: units.Short,
          width: 6,
          queries: [{ expr: family('kafka_connected'), legend: '{{instance}} worker {{worker}}' }],
        },
        [
          { from: 0, text: 'reconnects', color: 'red' },
          { from: 1, text: 'connected', color: 'green' },
        ],
      ),
      chart({
        title: 'Assigned partitions',
        description: 'Partitions assigned to each replica. Partitions of the two topics with the same number count as one. They move when a replica joins or leaves.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [{ expr: sum('instance', family('assigned_partitions')), legend: '{{instance}}' }],
      }),
      chart({
        title: 'Data loss and limits',
        description:
          'Per second: offsets that Kafka never delivered, searches finalised before the end of their feedback window ' +
          'because too many events were pending, and samples counted under `__other__` because of the limit on series. ' +
          'All three are normally 0.',
        unit: units.CountsPerSecond,
        width: 6,
        min: 0,
        queries: [
          { expr: orZero(sum('topic', rate(family('offset_gap_records_total'))), 'topic'), legend: 'offset gap {{topic}}' },
          { expr: `sum(${rate(family('finalised_early_total'))})`, legend: 'finalised early' },
          { expr: orZero(sum('family', rate(family('overflow_samples_total'))), 'family'), legend: 'overflow {{family}}' },
        ],
      }),
      chart({
        title: 'Rebalances',
        description: 'Changes of the partition assignment in the interval of each point. Frequent rebalances reduce throughput.',
        unit: units.Short,
        width: 6,
        min: 0,
        queries: [
          { expr: sum('instance', `increase(${family('rebalances_total')}[$__rate_interval])`), legend: '{{instance}}' },
        ],
      }),
      chart({
        title: 'Memory',
        description: 'Resident memory of each replica. Constant at constant traffic.',
        unit: units.BytesIEC,
        width: 12,
        min: 0,
        queries: [{ expr: processMetric('resident_memory_bytes'), legend: '{{instance}}' }],
      }),
      chart({
        title: 'CPU',
        description: 'CPU cores used by each replica.',
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [{ expr: rate(processMetric('cpu_seconds_total')), legend: '{{instance}}' }],
      }),
    ],
  };
}
