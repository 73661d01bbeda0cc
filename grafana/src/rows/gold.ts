// What the searches are judged against.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { course, label, number, PER_REPLICA, type Row } from '../panels';
import { added, family, orZero, sum, VARIANTS, WINDOW } from '../promql';

/** The row "Gold set". */
export function gold(): Row {
  return {
    title: 'Gold set',
    panels: [
      course({
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
        description: 'Queries with judgements in the set that is loaded.',
        unit: units.Short,
        width: 6,
        height: 8,
        queries: [{ expr: `max(${family('gold_queries')})`, legend: 'queries' }],
      }),
      number({
        title: 'Judgements',
        description: 'Judged (query, document) pairs in the set that is loaded.',
        unit: units.Short,
        width: 6,
        height: 8,
        queries: [{ expr: `max(${family('gold_judgements')})`, legend: 'judgements' }],
      }),
      label({
        title: 'Version',
        description:
          'Version and the first characters of the SHA-256 of the set that is loaded. Scores against different ' +
          'sets are not comparable. Two versions: the replicas do not agree.',
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
        description: 'Age of the gold set in memory, of the replica that loaded last.',
        unit: units.Seconds,
        width: 6,
        queries: [{ expr: `time() - max(${family('gold_reload_timestamp_seconds')})`, legend: 'age' }],
      }),
      number({
        title: 'Reloads in the time range',
        description: 'How often the set was loaded anew, by result. After a failure the former set stays in use.',
        unit: units.Short,
        width: 6,
        queries: [{ expr: orZero(sum('result', added(family('gold_reloads_total'))), 'result'), legend: '{{result}}' }],
      }).decimals(0),
      label({
        title: 'rankgauge',
        description: 'Version and revision of the replicas that are scraped.',
        unit: units.Short,
        width: 6,
        queries: [
          { expr: `count by (version, revision) (${family('build_info')})`, legend: '{{version}} {{revision}}' },
        ],
      }),
    ],
  };
}
