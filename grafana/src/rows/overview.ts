// The first look: alarms, targets, quality, users, latency, cost and the health of the measurement.
//
// Values over all replicas come from the recording rules, which alerts use as well.

import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { dashboardLink, queriesLink, UID } from '../links';
import { chart, matrix, number, RECORDED, referenceLines, type Row, trend } from '../panels';
import { avg, family, firing, max, MEASURE, orZero, recorded, VARIANTS } from '../promql';

/** Traffic light: green below `yellow`, red from `red` on. */
function trafficLight(yellow: number, red: number): dashboard.ThresholdsConfigBuilder {
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value: yellow, color: 'yellow' },
    { value: red, color: 'red' },
  ]);
}

/** Colours of the states of a target: 0 missed, 1 partly reached, 2 reached. */
function targetLight(): dashboard.ThresholdsConfigBuilder {
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps([
    { value: null, color: 'red' },
    { value: 1, color: 'yellow' },
    { value: 2, color: 'green' },
  ]);
}

const TARGET_STATES: dashboard.ValueMapping[] = [
  {
    type: dashboard.MappingType.ValueToText,
    options: {
      '0': { text: '✗ missed', color: 'red', index: 0 },
      '1': { text: '○ partly', color: 'yellow', index: 1 },
      '2': { text: '● reached', color: 'green', index: 2 },
    },
  },
];

const VARIANT = 'var-variant=${__field.labels.variant:percentencode}';

/** The row "Overview". At most twelve panels. */
export function overview(): Row {
  const threshold = recorded('evidence_threshold:max', 'test="drop"');
  const evidence = recorded('drop_log_evidence:logsumexp', MEASURE, VARIANTS);
  const byVariant = (name: string, ...matchers: string[]) => avg('variant', recorded(name, VARIANTS, ...matchers));
  return {
    title: 'Overview',
    panels: [
      number({
        title: 'Firing alerts',
        description: 'Alerts of deploy/prometheus/rules that fire now, by severity. The runbooks explain each of them.',
        unit: units.Short,
        width: 4,
        queries: [{ expr: orZero(`count by (severity) (${firing()})`, 'severity'), legend: '{{severity}}' }],
      })
        .decimals(0)
        .thresholds(trafficLight(1, 1))
        .dataLinks([dashboardLink('Regression evidence', UID.quality)]),
      trend({
        title: 'Searches per second',
        description: `Searches counted per second in the last five minutes. ${RECORDED}`,
        unit: units.RequestsPerSecond,
        width: 4,
        queries: [{ expr: `sum(${recorded('searches:rate5m')})`, legend: 'searches' }],
      })
        .decimals(1)
        .dataLinks([dashboardLink('Latency and throughput', UID.latency)]),
      number({
        title: 'Searches judged',
        description:
          'Share of the searches of the last hour that match a gold query. All gold measures describe this share. Absent ' +
          `below 100 searches. ${RECORDED}`,
        unit: units.PercentUnit,
        width: 4,
        queries: [{ expr: `min(${recorded('gold_coverage:increase1h')})`, legend: 'judged' }],
      })
        .decimals(1)
        .dataLinks([dashboardLink('Gold set', UID.pipeline)]),
      number({
        title: 'Consumer lag',
        description: `Records in Kafka that are not yet read. Red at the threshold of the alert RankgaugeLagHigh. ${RECORDED}`,
        unit: units.Short,
        width: 4,
        queries: [{ expr: `sum(${recorded('consumer_lag_records:sum')})`, legend: 'records' }],
      })
        .decimals(0)
        .thresholds(trafficLight(1000, 10000))
        .dataLinks([dashboardLink('Pipeline', UID.pipeline)]),
      number({
        title: 'Age of the oldest snapshot',
        description: 'Workers publish about once per second. An old snapshot belongs to a worker that hangs.',
        unit: units.Seconds,
        width: 4,
        queries: [{ expr: `max(${family('snapshot_age_seconds')})`, legend: 'age' }],
      })
        .decimals(1)
        .thresholds(trafficLight(10, 60))
        .dataLinks([dashboardLink('Pipeline', UID.pipeline)]),
      number({
        title: 'Replicas',
        description: 'Scraped replicas of the selected deployments.',
        unit: units.Short,
        width: 4,
        queries: [{ expr: `count(${family('build_info')})`, legend: 'replicas' }],
      })
        .decimals(0)
        .dataLinks([dashboardLink('Pipeline', UID.pipeline)]),
      matrix(
        {
          title: 'Targets',
          description:
            'Mean of the last hour against the configured targets of each measure: reached (the highest tier), partly (the ' +
            `lowest tier) or missed. Chance is not excluded: an alert needs evidence. ${RECORDED}`,
          unit: units.Short,
          width: 12,
          height: 12,
          queries: [
            { expr: `min by (measure, variant) (${recorded('score_target_status:rate1h', VARIANTS)})`, legend: '{{measure}} {{variant}}' },
          ],
        },
        'measure',
        'variant',
      )
        .colorScheme(new dashboard.FieldColorBuilder().mode(dashboard.FieldColorModeId.Thresholds))
        .thresholds(targetLight())
        .mappings(TARGET_STATES)
        .dataLinks([
          dashboardLink(
            'Scores of the measure',
            UID.quality,
            'var-measure=${__data.fields[0]:percentencode}',
            'var-variant=${__field.name:percentencode}',
          ),
        ]),
      referenceLines(
        chart({
          title: '$measure by variant',
          description: `Mean over five minutes, and the configured targets (dashed). ${RECORDED}`,
          unit: units.Short,
          width: 12,
          height: 12,
          queries: [
            { expr: byVariant('score_mean:rate5m', MEASURE), legend: '{{variant}}' },
            { expr: max('tier', family('score_target', MEASURE)), legend: 'target: {{tier}}' },
          ],
        }),
        'target: ',
      ).dataLinks([queriesLink(), dashboardLink('Quality and slices', UID.quality, VARIANT)]),
      chart({
        title: 'Evidence of a drop of $measure / threshold',
        description:
          'Regression evidence (log e-value) of the variant as a share of its threshold. At 100 % an alert fires. It is ' +
          `anytime-valid: continuous monitoring does not raise the false-alarm rate. Only for detection.measures. ${RECORDED}`,
        unit: units.PercentUnit,
        width: 12,
        queries: [
          { expr: max('variant', `${evidence} / on (cluster, namespace, job) group_left () ${threshold}`), legend: '{{variant}}' },
        ],
      })
        .thresholds(
          new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps([
            { value: null, color: 'transparent' },
            { value: 1, color: 'red' },
          ]),
        )
        .thresholdsStyle(new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.LineAndArea))
        .dataLinks([queriesLink(), dashboardLink('Regressions', UID.quality, VARIANT)]),
      chart({
        title: 'User behaviour',
        description:
          'Share of searches with a click (CTR) and with a satisfied click (SAT), mean over five minutes. A search counts ' +
          `when its feedback window has passed. ${RECORDED}`,
        unit: units.PercentUnit,
        width: 12,
        min: 0,
        max: 1,
        queries: [
          {
            expr: avg('measure, variant', recorded('score_mean:rate5m', 'measure=~"CTR|SAT.*"', VARIANTS)),
            legend: '{{measure}} · {{variant}}',
          },
        ],
      }).dataLinks([dashboardLink('Users and experiments', UID.users, VARIANT)]),
      chart({
        title: 'Search latency (p95)',
        description: `95th percentile of the whole search over five minutes, interpolated within the histogram's buckets. ${RECORDED}`,
        unit: units.Seconds,
        width: 12,
        min: 0,
        queries: [{ expr: max('variant', recorded('search_latency_seconds:p95_rate5m', VARIANTS)), legend: '{{variant}}' }],
      }).dataLinks([dashboardLink('Latency and cost', UID.latency, VARIANT)]),
      chart({
        title: 'Cost of 1,000 searches',
        axis: 'currency units for 1,000 searches',
        description: `Total cost / all searches of the last hour, times 1,000, by currency. ${RECORDED}`,
        unit: units.Short,
        width: 12,
        min: 0,
        queries: [
          {
            expr: `1000 * ${avg('variant, currency', recorded('cost_per_search:rate1h', VARIANTS))}`,
            legend: '{{variant}} ({{currency}})',
          },
        ],
      }).dataLinks([dashboardLink('Latency and cost', UID.latency, VARIANT)]),
    ],
  };
}
