// The dashboards of the folder "rankgauge": rows, variables and titles.
//
// They use Grafana's classic schema. Every supported version, file provisioning and the Kubernetes
// sidecars load that schema.

import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import { annotations, dashboardLinks, TAG, UID } from './links';
import { DATASOURCE_INPUT, type Row } from './panels';
import { allTraffic } from './rows/all-traffic';
import { answers } from './rows/answers';
import { components } from './rows/components';
import { cost } from './rows/cost';
import { evaluators } from './rows/evaluators';
import { experiments } from './rows/experiments';
import { gold } from './rows/gold';
import { incidents } from './rows/incidents';
import { latency } from './rows/latency';
import { micro } from './rows/micro';
import { overview } from './rows/overview';
import { pipeline } from './rows/pipeline';
import { quality } from './rows/quality';
import { regressions } from './rows/regressions';
import { routing } from './rows/routing';
import { slices } from './rows/slices';
import { users } from './rows/users';
import { type Variable, variables } from './variables';

/** Lowest version of Grafana that has all that the dashboards use. */
const GRAFANA = '10.4.0';

/** Rows in the order in which their panels are numbered. Alerts link to these numbers: new rows go to the end. */
const ROWS = {
  quality,
  regressions,
  micro,
  slices,
  components,
  routing,
  users,
  experiments,
  latency,
  cost,
  pipeline,
  gold,
  overview,
  allTraffic,
  evaluators,
  incidents,
  answers,
};

type RowName = keyof typeof ROWS;

/** Content of a dashboard. */
interface Sheet {
  uid: string;
  title: string;
  description: string;
  variables: Variable[];
  rows: RowName[];
  /** Rows that a reader opens, below the others. */
  collapsed?: RowName[];
}

const SHEETS: Record<string, Sheet> = {
  'overview.json': {
    uid: UID.overview,
    title: 'Overview',
    description: 'Is search quality as it should be, and is it measured? Twelve panels; each links to its details.',
    variables: ['variant', 'measure'],
    rows: ['overview'],
  },
  'search-quality.json': {
    uid: UID.quality,
    title: 'Quality and slices',
    description: 'Scores against the gold set, regression evidence, micro averages, slices, all traffic, and answers.',
    variables: ['variant', 'measure', 'cutoff', 'slice', 'window', 'tier'],
    rows: ['quality', 'incidents', 'regressions'],
    collapsed: ['micro', 'slices', 'allTraffic', 'answers'],
  },
  'users.json': {
    uid: UID.users,
    title: 'Users and experiments',
    description: 'User feedback with sample sizes, experiments, interleaving and agreement with users.',
    variables: ['variant', 'measure', 'experiment', 'window'],
    rows: ['users'],
    collapsed: ['experiments', 'evaluators'],
  },
  'latency.json': {
    uid: UID.latency,
    title: 'Latency and cost',
    description: 'Latency by stage, throughput, failed searches, tokens and cost.',
    variables: ['variant', 'window'],
    rows: ['latency'],
    collapsed: ['cost'],
  },
  'pipeline.json': {
    uid: UID.pipeline,
    title: 'Pipeline',
    description: 'Health of the measurement: records received, pending and lost, and the gold set in use.',
    variables: ['variant', 'window'],
    rows: ['pipeline'],
    collapsed: ['gold'],
  },
  'components.json': {
    uid: UID.components,
    title: 'Components and routing',
    description: 'Contribution of the components of the ranking, routing to domains and collaboration of domains.',
    variables: ['variant'],
    rows: ['components'],
    collapsed: ['routing'],
  },
};

/** A row and its panels with their ids. */
type Numbered = { row: dashboard.RowPanel; panels: dashboard.Panel[] };

/**
 * All rows. Ids do not depend on the dashboard of a row, so links to panels stay valid. A panel that is added between others
 * states its id itself, from 1001 on.
 */
function numbered(): Record<RowName, Numbered> {
  let id = 0;
  const next = <T extends { id?: number }>(built: T): T => {
    if (!built.id) {
      id += 1;
      built.id = id;
    }
    return built;
  };
  const rows = Object.entries(ROWS).map(([name, build]: [string, () => Row]) => {
    const { title, panels } = build();
    const row = next<dashboard.RowPanel>(new dashboard.RowBuilder(title).build());
    return [name, { row, panels: panels.map((panel) => next(panel.build())) }];
  });
  return Object.fromEntries(rows);
}

const built = <T>(value: T): Builder<T> => ({ build: () => value });

/** What an import asks for, and what it needs. Provisioning ignores both. */
function requirements(panels: dashboard.Panel[]) {
  const types = [...new Set(panels.map((panel) => panel.type))].sort();
  return {
    __inputs: [
      {
        name: DATASOURCE_INPUT,
        label: 'Prometheus',
        description: 'Prometheus that scrapes rankgauge and evaluates deploy/prometheus/rules',
        type: 'datasource',
        pluginId: 'prometheus',
        pluginName: 'Prometheus',
      },
    ],
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: GRAFANA },
      { type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
      ...types.map((type) => ({ type: 'panel', id: type, name: type, version: '' })),
    ],
  };
}

function sheet(content: Sheet, rows: Record<RowName, Numbered>): object {
  const builder = new dashboard.DashboardBuilder(content.title)
    .uid(content.uid)
    .description(`${content.description} For Grafana ${GRAFANA} or later.`)
    .tags([TAG, 'search'])
    .timezone('browser')
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair);
  for (const link of dashboardLinks()) builder.link(link);
  for (const annotation of annotations()) builder.annotation(annotation);
  for (const variable of variables(content.variables)) builder.withVariable(variable);
  const shown = content.rows.map((name) => rows[name]);
  const collapsed = (content.collapsed ?? []).map((name) => rows[name]);
  for (const { row, panels } of shown) {
    // A dashboard of one row needs no title for it.
    if (shown.length + collapsed.length > 1) builder.withRow(built(row));
    for (const panel of panels) builder.withPanel(built(panel));
  }
  for (const { row, panels } of collapsed) builder.withRow(built({ ...row, collapsed: true, panels }));
  const panels = [...shown, ...collapsed].flatMap((row) => row.panels);
  const complete: dashboard.Dashboard = builder.build();
  return { ...requirements(panels), ...complete };
}

/** All dashboards by file name. */
export function dashboards(): Record<string, object> {
  const all = Object.entries(SHEETS);
  return Object.fromEntries(all.map(([file, content]) => [file, sheet(content, numbered())]));
}
