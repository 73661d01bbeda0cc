// Latency, throughput and errors.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, PER_REPLICA, type Row } from '../panels';
import { family, max, quantile, rate, ratio, sum, VARIANTS, WHOLE, WINDOW } from '../promql';

/** Histogram of the latency of searches and their stages. */
const LATENCY = 'search_latency_seconds';

/** The row "Latency". */
export function latency(): Row {
  const all = 'stage="all"';
  const searches = sum('variant', rate(family('searches_total', WHOLE, VARIANTS)));
  const errors = sum('variant', rate(family('search_errors_total', VARIANTS)));
  return {
    title: 'Latency',
    panels: [
      chart({
        title: 'Search latency by variant',
        description:
          'Median and 95th percentile of the whole search, over all replicas, interpolated within the histogram\'s ' +
          'buckets.',
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [
          { expr: quantile(0.5, 'variant', LATENCY, all, VARIANTS), legend: '{{variant}} p50' },
          { expr: quantile(0.95, 'variant', LATENCY, all, VARIANTS), legend: '{{variant}} p95' },
        ],
      }),
      chart({
        title: 'Latency by stage (p95)',
        description: '95th percentile of each stage, over all replicas and selected variants. `all` is the whole search.',
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [{ expr: quantile(0.95, 'stage', LATENCY, VARIANTS), legend: '{{stage}}' }],
      }),
      chart({
        title: 'Rolling latency ($window)',
        description: `${PER_REPLICA} Latency of the whole search, with a relative error of at most 1 %. Quantile 1 is the maximum. The slowest replica is shown.`,
        unit: units.Seconds,
        width: 8,
        min: 0,
        queries: [
          {
            expr: max('variant, quantile', family('search_latency_quantile_seconds', all, VARIANTS, WINDOW)),
            legend: '{{variant}} q{{quantile}}',
          },
        ],
      }),
      chart({
        title: 'Searches per second',
        description: 'Searches counted per second, over all replicas.',
        unit: units.RequestsPerSecond,
        width: 8,
        min: 0,
        queries: [{ expr: searches, legend: '{{variant}}' }],
      }),
      chart({
        title: 'Rolling searches per second ($window)',
        description: `${PER_REPLICA} The panel shows the sum over replicas.`,
        unit: units.RequestsPerSecond,
        width: 8,
        min: 0,
        queries: [
          { expr: sum('variant', family('searches_per_second', VARIANTS, WINDOW)), legend: '{{variant}}' },
        ],
      }),
      chart({
        title: 'Failed searches',
        description: 'Share of searches that reported an error, by variant. 0 if no search failed, absent without searches.',
        unit: units.PercentUnit,
        width: 8,
        min: 0,
        queries: [{ expr: `${ratio(errors, searches)} or 0 * (${searches} > 0)`, legend: '{{variant}}' }],
      }),
    ],
  };
}
