// PromQL building blocks of the panels.
//
// Four rules apply to every expression:
// - A value over all replicas is computed from counters, which can be summed over replicas.
// - A variant without searches is absent: a denominator of 0 is removed before it results in NaN.
// - A counter that is exposed only after its first event (errors, gaps) reads 0 while a sidecar is
//   scraped, and is absent otherwise.
// - Values that only a rule can combine over replicas (evidence, differences of arms) come from the
//   recording rules, so panels and alerts agree.

/** Matches the selected sidecars. */
const SCOPE = 'cluster=~"$cluster",job=~"$job",instance=~"$instance"';

/** Matches the selected deployments. */
const DEPLOYMENTS = 'cluster=~"$cluster",job=~"$job"';

/** Matches the selected variants. */
export const VARIANTS = 'variant=~"$variant"';

/** Matches all searches instead of one slice. */
export const WHOLE = 'slice="all"';

/** Matches the selected measure. */
export const MEASURE = 'measure="$measure"';

/** Matches the selected cutoff. */
export const CUTOFF = 'cutoff="$cutoff"';

/** Matches the selected experiments. */
export const EXPERIMENTS = 'experiment=~"$experiment"';

/** Matches the selected rolling window. */
export const WINDOW = 'window="$window"';

/** Matches the values of the selected slice. */
export const LABELLED_SLICE = 'slice="$slice"';

/** The family `rankgauge_NAME` of the selected sidecars, restricted by `matchers`. */
export function family(name: string, ...matchers: string[]): string {
  return `rankgauge_${name}{${[SCOPE, ...matchers].join(',')}}`;
}

/**
 * The series of a recording rule (deploy/prometheus/rules) of the selected deployments, over all
 * replicas. Alerts use the same series. Empty if Prometheus has not loaded the rules.
 */
export function recorded(name: string, ...matchers: string[]): string {
  return `rankgauge:${name}{${[DEPLOYMENTS, ...matchers].join(',')}}`;
}

/** Firing alerts of deploy/prometheus/rules, of the selected deployments. */
export function firing(...matchers: string[]): string {
  const all = ['alertname=~"Rankgauge.+"', 'alertstate="firing"', DEPLOYMENTS, ...matchers];
  return `ALERTS{${all.join(',')}}`;
}

/** A process metric, which has no `rankgauge_` prefix. */
export function processMetric(name: string): string {
  return `process_${name}{${SCOPE}}`;
}

/** Rate per second, over the shortest range that always contains enough scrapes. */
export function rate(counter: string): string {
  return `rate(${counter}[$__rate_interval])`;
}

/** Increase over the dashboard's time range. */
export function increase(counter: string): string {
  return `increase(${counter}[$__range])`;
}

/** Sum over replicas, by `labels`. */
export function sum(labels: string, expr: string): string {
  return `sum by (${labels}) (${expr})`;
}

/** Mean over deployments, by `labels`. */
export function avg(labels: string, expr: string): string {
  return `avg by (${labels}) (${expr})`;
}

/** Maximum over replicas, by `labels`. */
export function max(labels: string, expr: string): string {
  return `max by (${labels}) (${expr})`;
}

/** Minimum over replicas, by `labels`. */
export function min(labels: string, expr: string): string {
  return `min by (${labels}) (${expr})`;
}

/** `numerator / denominator` where the denominator is above 0; absent elsewhere. */
export function ratio(numerator: string, denominator: string): string {
  return `${numerator} / (${denominator} > 0)`;
}

/** Function applied to a counter in a ratio: `rate` for a time series, `increase` for one number. */
export type Over = (counter: string) => string;

/**
 * The sum of all scores, by `labels`. A counter must not decrease, so negative scores are summed in a
 * separate counter. Only measures that can be negative have it; for other measures nothing is
 * subtracted.
 */
function scoreSum(over: Over, labels: string, ...matchers: string[]): string {
  const part = (name: string) => sum(labels, over(family(name, ...matchers)));
  const above = part('score_sum_total');
  return `(${above} - ${part('score_negative_sum_total')} or ${above})`;
}

/** The mean score of all judged searches, by `labels`. */
export function meanScore(over: Over, labels: string, ...matchers: string[]): string {
  const number = sum(labels, over(family('score_count_total', ...matchers)));
  return ratio(scoreSum(over, labels, ...matchers), number);
}

/**
 * Half the width of the 95 % confidence interval of the mean score, by `labels`:
 * 1.96 sqrt(variance / n), with the variance from the sum of squares. `clamp_min` removes a negative
 * variance caused by rounding.
 */
export function meanScoreMargin(over: Over, labels: string, ...matchers: string[]): string {
  const part = (name: string) => sum(labels, over(family(name, ...matchers)));
  const count = `(${part('score_count_total')} > 0)`;
  const meanSquare = `${part('score_squares_total')} / ${count}`;
  const squaredMean = `(${scoreSum(over, labels, ...matchers)} / ${count}) ^ 2`;
  return `1.96 * sqrt(clamp_min(${meanSquare} - ${squaredMean}, 0) / ${count})`;
}

/**
 * Share of the `counter` restricted by `within` that also matches `matchers`, by `labels`. An absent
 * series is a share of 0.
 */
export function share(over: Over, labels: string, counter: string, matchers: string[], within: string[]): string {
  const all = sum(labels, over(family(counter, ...within)));
  const some = sum(labels, over(family(counter, ...within, ...matchers)));
  return ratio(`(${some} or 0 * ${all})`, all);
}

/**
 * `expr` with the sample size as a label `n` for its legend: the sum of `size`, by `labels`. It must be
 * constant over the time range, because each value of `n` is a separate series: use
 * `constantIncrease` or `valueAtEnd`.
 */
export function withSampleSize(labels: string, expr: string, size: string): string {
  return `(${expr}) * on (${labels}) group_left (n) count_values by (${labels}) ("n", round(${sum(labels, size)}))`;
}

/** Increase over the dashboard's time range, constant at every point of it. */
export function constantIncrease(counter: string): string {
  return `increase(${counter}[$__range] @ end())`;
}

/**
 * Value of the counter at the end of the dashboard's time range, constant at every point of it. The
 * range of the lookup covers a failed scrape at the end.
 */
export function valueAtEnd(counter: string): string {
  return `last_over_time(${counter}[$__rate_interval] @ end())`;
}

/** The mean score, by `labels`, with the number of scores in the time range as the label `n`. */
export function sizedMeanScore(labels: string, ...matchers: string[]): string {
  const mean = meanScore(rate, labels, ...matchers);
  return withSampleSize(labels, mean, constantIncrease(family('score_count_total', ...matchers)));
}

/** The `q` quantile of a histogram, by `labels`. Series without observations are absent. */
export function quantile(q: number, labels: string, histogram: string, ...matchers: string[]): string {
  const buckets = sum(`le, ${labels}`, rate(family(`${histogram}_bucket`, ...matchers)));
  return `histogram_quantile(${q}, ${buckets}) >= 0`;
}

/** `expr`, or if it has no series, 0 with `label="none"` while a sidecar is scraped. */
export function orZero(expr: string, label: string): string {
  const zero = `0 * sum(${family('build_info')})`;
  return `${expr} or on () label_replace(${zero}, "${label}", "none", "", "")`;
}
