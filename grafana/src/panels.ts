// Common style of all panels: time series, numbers, bars and tables.

import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog';
import * as bargauge from '@grafana/grafana-foundation-sdk/bargauge';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

/** Name of the data source that an import asks for. */
export const DATASOURCE_INPUT = 'DS_PROMETHEUS';

/** The Prometheus data source selected at the top of the dashboard. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** One query of a panel: PromQL expression and legend of each series. */
export interface Query {
  expr: string;
  legend: string;
}

/** Content and layout of a panel. `width` is in 24ths of the dashboard. */
export interface Spec {
  title: string;
  description: string;
  unit: string;
  width: number;
  height?: number;
  min?: number;
  max?: number;
  /** Name of the vertical axis, where the unit does not say it. */
  axis?: string;
  queries: Query[];
}

function refId(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function rangeQuery(query: Query, index: number): Builder<Dataquery> {
  return new prometheus.DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(refId(index))
    .expr(query.expr)
    .legendFormat(query.legend)
    .range();
}

function instantQuery(query: Query, index: number): prometheus.DataqueryBuilder {
  return new prometheus.DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(refId(index))
    .expr(query.expr)
    .legendFormat(query.legend)
    .instant();
}

/** Text of a panel without a value, instead of an empty one. */
const NO_VALUE = 'no data in this range';

/** Reduces each series to its last value. */
function lastValue(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']);
}

/** One colour and no thresholds, for values that are neither good nor bad. */
function neutral(): dashboard.ThresholdsConfigBuilder {
  return new dashboard.ThresholdsConfigBuilder()
    .mode(dashboard.ThresholdsMode.Absolute)
    .steps([{ value: null, color: 'blue' }]);
}

/** A time series panel with one line per series. */
export function chart(spec: Spec): timeseries.PanelBuilder {
  const panel = new timeseries.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8)
    .lineWidth(2)
    .fillOpacity(4)
    .showPoints(common.VisibilityMode.Auto)
    .colorScheme(new dashboard.FieldColorBuilder().mode(dashboard.FieldColorModeId.PaletteClassicByName))
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(common.LegendDisplayMode.Table)
        .placement(common.LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'min', 'mean', 'max']),
    )
    .noValue(NO_VALUE)
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    )
    .targets(spec.queries.map(rangeQuery));
  if (spec.min !== undefined) panel.min(spec.min);
  if (spec.max !== undefined) panel.max(spec.max);
  if (spec.axis !== undefined) panel.axisLabel(spec.axis);
  return panel;
}

/** One number per series, at the end of the time range. */
export function number(spec: Spec): stat.PanelBuilder {
  return new stat.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 4)
    .noValue(NO_VALUE)
    .thresholds(neutral())
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(lastValue())
    .targets(spec.queries.map(instantQuery));
}

/** One number per series, at the end of the time range, with its course as an area behind it. */
export function trend(spec: Spec): stat.PanelBuilder {
  return number(spec).graphMode(common.BigValueGraphMode.Area).targets(spec.queries.map(rangeQuery));
}

/** The text of a label instead of a number. */
export function label(spec: Spec): stat.PanelBuilder {
  return number(spec).textMode(common.BigValueTextMode.Name).colorMode(common.BigValueColorMode.None);
}

/** One horizontal bar per series, at the end of the time range. */
export function bars(spec: Spec): bargauge.PanelBuilder {
  const panel = new bargauge.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8)
    .orientation(common.VizOrientation.Horizontal)
    .noValue(NO_VALUE)
    .thresholds(neutral())
    .reduceOptions(lastValue())
    .targets(spec.queries.map(instantQuery));
  if (spec.min !== undefined) panel.min(spec.min);
  if (spec.max !== undefined) panel.max(spec.max);
  return panel;
}

/**
 * A table with one row per label set. Each query is a column, named by its legend. `labels` are the
 * leading columns, in this order; every query must return exactly these labels.
 */
export function grid(spec: Spec, labels: string[]): table.PanelBuilder {
  const columns = spec.queries.map((query, index) => ({ field: `Value #${refId(index)}`, name: query.legend }));
  return new table.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 10)
    .filterable(true)
    .noValue('–')
    .thresholds(neutral())
    .targets(spec.queries.map((query, index) => instantQuery(query, index).format(prometheus.PromQueryFormat.Table)))
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true },
        indexByName: Object.fromEntries(
          [...labels, ...columns.map((column) => column.field)].map((field, index) => [field, index]),
        ),
        renameByName: Object.fromEntries(columns.map((column) => [column.field, column.name])),
      },
    });
}

/**
 * A matrix of one query: a row for each value of the label `rows`, a column for each value of the
 * label `columns`. A darker cell is a larger number. The cell of an absent pair is empty.
 */
export function matrix(spec: Spec, rows: string, columns: string): table.PanelBuilder {
  return new table.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 10)
    .noValue('–')
    .colorScheme(new dashboard.FieldColorBuilder().mode(dashboard.FieldColorModeId.ContinuousBlues))
    .overrideByFieldType('number', [{ id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } }])
    .targets(spec.queries.map((query, index) => instantQuery(query, index).format(prometheus.PromQueryFormat.Table)))
    .withTransformation({
      id: 'groupingToMatrix',
      options: { rowField: rows, columnField: columns, valueField: 'Value' },
    });
}

/** Text and colour of a state whose number is `from` or more, up to the next state. */
export interface State {
  from: number;
  text: string;
  color: string;
}

/** A band over time for each series, with the states of its values. */
export function states(spec: Spec, all: State[]): statetimeline.PanelBuilder {
  return new statetimeline.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(DATASOURCE)
    .unit(spec.unit)
    .span(spec.width)
    .height(spec.height ?? 8)
    .noValue(NO_VALUE)
    .showValue(common.VisibilityMode.Auto)
    .mergeValues(true)
    .rowHeight(0.8)
    .thresholds(
      new dashboard.ThresholdsConfigBuilder()
        .mode(dashboard.ThresholdsMode.Absolute)
        .steps(all.map((state, index) => ({ value: index === 0 ? null : state.from, color: state.color }))),
    )
    .mappings(
      all.map((state, index) => {
        const next = all[index + 1];
        const to = next === undefined ? null : next.from - 1;
        return {
          type: dashboard.MappingType.RangeToText,
          options: { from: state.from, to, result: { text: state.text, color: state.color, index } },
        };
      }),
    )
    .legend(new common.VizLegendOptionsBuilder().showLegend(false))
    .targets(spec.queries.map(rangeQuery));
}

/** A titled group of panels. */
export interface Row {
  title: string;
  panels: Builder<dashboard.Panel>[];
}

/** Description of panels with a rolling gauge. */
export const PER_REPLICA =
  'Rolling value over the event-time window selected above, which ends at the watermark. Each replica reports its own ' +
  'partitions only.';

/** Description of panels with recorded values. */
export const RECORDED = 'Combined over all replicas by the recording rules in deploy/prometheus/rules.';

/** Draws lines whose legend begins with one of `names` as reference lines: thin, dashed, without an area. */
export function referenceLines(panel: timeseries.PanelBuilder, names: string): timeseries.PanelBuilder {
  return panel.overrideByRegexp(`/^(${names})/`, [
    { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 8] } },
    { id: 'custom.lineWidth', value: 1 },
    { id: 'custom.fillOpacity', value: 0 },
  ]);
}
