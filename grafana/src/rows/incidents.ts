// Incidents over time.

import * as units from '@grafana/grafana-foundation-sdk/units';
import { incidentsLink } from '../links';
import { RECORDED, type Row, states } from '../panels';
import { family, max, recorded, VARIANTS, WHOLE } from '../promql';

/** The row "Incidents". */
export function incidents(): Row {
  const open = `count by (variant) (${recorded('incident_loss:avg', 'bound="estimate"', VARIANTS)})`;
  const none = `0 * ${max('variant', family('searches_total', WHOLE, VARIANTS))}`;
  return {
    title: 'Incidents',
    panels: [
      states(
        {
          title: 'Incidents by variant',
          description:
            'Times with an open incident: a drop with a beginning and no end in any measure and slice. A gap: the variant ' +
            `was not scraped. The live page has the causes and the queries that lost. ${RECORDED}`,
          unit: units.Short,
          width: 24,
          height: 6,
          queries: [{ expr: `${open} or ${none}`, legend: '{{variant}}' }],
        },
        [
          { from: 0, text: 'no incident', color: 'transparent' },
          { from: 1, text: 'incident', color: 'red' },
        ],
      ).dataLinks([incidentsLink()]),
    ],
  };
}
