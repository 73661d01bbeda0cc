// The PromQL that the panels are made of.
//
// Four rules hold for all of it. A fleet-wide value is computed from counters, which add over
// replicas. A variant without searches is absent from the answer: a denominator of 0 is filtered
// out before it can make a NaN. What is exposed only once it happens (errors, gaps) reads 0 while
// a sidecar is there to say so, and is absent when none is. What only a rule can merge over replicas
// (evidence, differences of arms) is taken from the recording rules, so that panels and alerts agree.

/** Restricts to the chosen sidecars. */
const SCOPE = 'job=~"$job",instance=~"$instance"';

/** Restricts to the chosen variants. */
export const VARIANTS = 'variant=~"$variant"';

/** All searches, not one slice of them. */
export const WHOLE = 'slice="all"';

/** Restricts to the chosen measure. */
export const MEASURE = 'measure="$measure"';

/** Restricts to the chosen cutoff. */
export const CUTOFF = 'cutoff="$cutoff"';

/** Restricts to the chosen experiments. */
export const EXPERIMENTS = 'experiment=~"$experiment"';

/** Restricts to the chosen rolling window. */
export const WINDOW = 'window="$window"';

/** Restricts to the values of the chosen slice. */
export const LABELLED_SLICE = 'slice="$slice"';

/** The family `rankgauge_NAME` of the chosen sidecars, restricted by `matchers`. */
export function family(name: string, ...matchers: string[]): string {
  return `rankgauge_${name}{${[SCOPE, ...matchers].join(',')}}`;
}

/**
 * What a recording rule (deploy/prometheus/rules) says of the chosen deployments, all replicas
 * together: what alerts decide on. Empty where Prometheus has not loaded the rules.
 */
export function recorded(name: string, ...matchers: string[]): string {
  return `rankgauge:${name}{${['job=~"$job"', ...matchers].join(',')}}`;
}

/** A metric of the process itself, which has no prefix. */
export function processMetric(name: string): string {
  return `process_${name}{${SCOPE}}`;
}

/** Per second, over the shortest range that always holds enough scrapes. */
export function rate(counter: string): string {
  return `rate(${counter}[$__rate_interval])`;
}

/** How much was added in the dashboard's whole time range. */
export function added(counter: string): string {
  return `increase(${counter}[$__range])`;
}

/** Added over replicas, by `labels`. */
export function sum(labels: string, expr: string): string {
  return `sum by (${labels}) (${expr})`;
}

/** The largest of the replicas, by `labels`. */
export function max(labels: string, expr: string): string {
  return `max by (${labels}) (${expr})`;
}

/** The smallest of the replicas, by `labels`. */
export function min(labels: string, expr: string): string {
  return `min by (${labels}) (${expr})`;
}

/** `numerator / denominator` where the denominator is above 0, and nothing elsewhere. */
export function ratio(numerator: string, denominator: string): string {
  return `${numerator} / (${denominator} > 0)`;
}

/** How a counter becomes what a ratio is made of: `rate` for a course, `added` for one number. */
export type Over = (counter: string) => string;

/**
 * The sum of all scores, by `labels`. A counter must not fall, so scores below 0 are added up in a
 * counter of their own, which only measures that can be negative have: what is taken away from a
 * measure without it is nothing.
 */
function scoreSum(over: Over, labels: string, ...matchers: string[]): string {
  const part = (name: string) => sum(labels, over(family(name, ...matchers)));
  const above = part('score_sum_total');
  return `(${above} - ${part('score_negative_sum_total')} or ${above})`;
}

/** The mean score of all searches judged, by `labels`. */
export function meanScore(over: Over, labels: string, ...matchers: string[]): string {
  const number = sum(labels, over(family('score_count_total', ...matchers)));
  return ratio(scoreSum(over, labels, ...matchers), number);
}

/**
 * Half the width of the 95 % confidence interval of the mean score, by `labels`:
 * 1.96 sqrt(variance / n), the variance from the sum of squares. Rounding may leave a variance
 * just below 0, hence `clamp_min`.
 */
export function meanScoreMargin(over: Over, labels: string, ...matchers: string[]): string {
  const part = (name: string) => sum(labels, over(family(name, ...matchers)));
  const count = `(${part('score_count_total')} > 0)`;
  const meanSquare = `${part('score_squares_total')} / ${count}`;
  const squaredMean = `(${scoreSum(over, labels, ...matchers)} / ${count}) ^ 2`;
  return `1.96 * sqrt(clamp_min(${meanSquare} - ${squaredMean}, 0) / ${count})`;
}

/**
 * Which share of `counter` the `matchers` pick out, by `labels`, of what `within` leaves of it. What
 * never happened has no series and is a share of 0.
 */
export function share(over: Over, labels: string, counter: string, matchers: string[], within: string[]): string {
  const all = sum(labels, over(family(counter, ...within)));
  const some = sum(labels, over(family(counter, ...within, ...matchers)));
  return ratio(`(${some} or 0 * ${all})`, all);
}

/**
 * `expr` with a label `n` for its legend: what `size` counts, by `labels`. It must be one number for
 * every moment of a course, or each would be a series of its own: `addedInAll` or `reached`.
 */
export function withSampleSize(labels: string, expr: string, size: string): string {
  return `(${expr}) * on (${labels}) group_left (n) count_values by (${labels}) ("n", round(${sum(labels, size)}))`;
}

/** How much was added in the dashboard's whole time range, the same at every moment of it. */
export function addedInAll(counter: string): string {
  return `increase(${counter}[$__range] @ end())`;
}

/**
 * What the counter had reached at the end of the dashboard's time range, at every moment of it. A
 * scrape that failed just then is overlooked.
 */
export function reached(counter: string): string {
  return `last_over_time(${counter}[$__rate_interval] @ end())`;
}

/** The mean score, by `labels`, with the number of scores in the time range as the label `n`. */
export function sizedMeanScore(labels: string, ...matchers: string[]): string {
  const mean = meanScore(rate, labels, ...matchers);
  return withSampleSize(labels, mean, addedInAll(family('score_count_total', ...matchers)));
}

/** The `q` quantile of a histogram, by `labels`, without arms that observed nothing. */
export function quantile(q: number, labels: string, histogram: string, ...matchers: string[]): string {
  const buckets = sum(`le, ${labels}`, rate(family(`${histogram}_bucket`, ...matchers)));
  return `histogram_quantile(${q}, ${buckets}) >= 0`;
}

/** `expr`, or, where it has no series at all, one of 0 labelled `label="none"` while a sidecar is scraped. */
export function orZero(expr: string, label: string): string {
  const zero = `0 * sum(${family('build_info')})`;
  return `${expr} or on () label_replace(${zero}, "${label}", "none", "", "")`;
}
