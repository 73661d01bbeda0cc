// Gold set in use.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { chart, label, number, PER_REPLICA, type Row } from '../panels';
import { family, increase, orZero, sum, VARIANTS, WINDOW } from '../promql';

/** The row "Gold set". */
export function gold(): Row {
  return {
    title: 'Gold set',
    panels: [
      chart({
        title: 'Coverage ($window)',
        description: `Share of searches that match a gold query. ${PER_REPLICA}`,
        unit: units.PercentUnit,
        width: 12,
        min: 0,
        max: 1,
        queries: [{ expr: family('gold_coverage', VARIANTS, WINDOW), legend: '{{variant}} ({{instance}})' }],
      }),
      number({
        title: 'Gold queries',
        description: 'Queries with judgements in the loaded gold set.',
        unit: units.Short,
        width: 6,
        height: 8,
        queries: [{ expr: `max(${family('gold_queries')})`, legend: 'queries' }],
      }),
      number({
        title: 'Judgements',
        description: 'Judged (query, document) pairs in the loaded gold set.',
        unit: units.Short,
        width: 6,
        height: 8,
        queries: [{ expr: `max(${family('gold_judgements')})`, legend: 'judgements' }],
      }),
      label({
        title: 'Version',
        description:
          'Version and first characters of the SHA-256 of the loaded gold set. Scores against different sets are not ' +
          'comparable. Two versions mean that the replicas have loaded different sets.',
        unit: units.Short,
        width: 6,
        queries: [
          {
            expr: `count by (version, short) (label_replace(${family('gold_info')}, "short", "$1", "sha256", "(.{0,12}).*"))`,
            legend: '{{version}} {{short}}',
          },
        ],
      }),
      number({
        title: 'Time since the last reload',
        description: 'Age of the gold set in memory, of the replica with the most recent reload.',
        unit: units.Seconds,
        width: 6,
        queries: [{ expr: `time() - max(${family('gold_reload_timestamp_seconds')})`, legend: 'age' }],
      }),
      number({
        title: 'Reloads in the time range',
        description: 'Reloads of the gold set, by result. After a failure the previous set stays in use.',
        unit: units.Short,
        width: 6,
        queries: [{ expr: orZero(sum('result', increase(family('gold_reloads_total'))), 'result'), legend: '{{result}}' }],
      }).decimals(0),
      label({
        title: 'rankgauge',
        description: 'Version and revision of the scraped replicas.',
        unit: units.Short,
        width: 6,
        queries: [
          { expr: `count by (version, revision) (${family('build_info')})`, legend: '{{version}} {{revision}}' },
        ],
      }),
    ],
  };
}
