import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Sample {
  /** Values by label; all samples of a metric have the same labels. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface CollectedMetric {
  readonly name: string
  readonly help: string
  /** Label names; none by default. */
  readonly labels?: readonly string[]
  /** Called at every scrape. Returns a number if the metric has no labels. */
  readonly collect: () => number | readonly Sample[] | Promise<number | readonly Sample[]>
}

/** Prometheus metrics of the manager. Other parts register their own metrics, which this file does not know. */
export interface Metrics {
  observeHttp(request: { method: string; route: string; status: number; seconds: number }): void
  /** Adds a metric that shows a current value. */
  gauge(metric: CollectedMetric): void
  /** Adds a metric that only grows while the process lives; `collect` gives the total. */
  total(metric: CollectedMetric): void
  /** @returns a function that counts one, by its labels */
  counter(metric: Omit<CollectedMetric, 'collect'>): (labels?: Readonly<Record<string, string>>) => void
  /** @param buckets upper bounds, seconds @returns a function that records one duration, in seconds */
  duration(metric: { name: string; help: string; buckets: readonly number[] }): (seconds: number) => void
  /** Text format, for /metrics. */
  render(): Promise<{ type: string; text: string }>
}

/** Node measures the delay of the event loop with a timer. Its default of 10 ms would wake an idle manager a hundred times a second. */
const LOOP_DELAY_EVERY_MS = 100

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'berth_', eventLoopMonitoringPrecision: LOOP_DELAY_EVERY_MS })
  const http = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Time from the request line to the end of the reply.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  return {
    observeHttp: ({ method, route, status, seconds }) =>
      http.observe({ method, route: routeClass(route), status: `${Math.floor(status / 100)}xx` }, seconds),
    gauge({ name, help, labels = [], collect }) {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          const samples = samplesOf(await collect())
          this.reset()
          for (const sample of samples) this.set(sample.labels, sample.value)
        },
      })
    },
    total({ name, help, labels = [], collect }) {
      new Counter({
        name,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          const samples = samplesOf(await collect())
          this.reset()
          for (const sample of samples) this.inc(sample.labels, sample.value)
        },
      })
    },
    counter({ name, help, labels = [] }) {
      const counter = new Counter({ name, help, labelNames: [...labels], registers })
      return (of = {}) => counter.inc(of)
    },
    duration({ name, help, buckets }) {
      const histogram = new Histogram({ name, help, buckets: [...buckets], registers })
      return seconds => histogram.observe(seconds)
    },
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}

function samplesOf(collected: number | readonly Sample[]): readonly Sample[] {
  return typeof collected === 'number' ? [{ labels: {}, value: collected }] : collected
}

/**
 * The part of the API that a route belongs to: `sessions` for `/api/v1/sessions/:id/logs`. Each class has a dozen series for each method
 * and class of statuses; with the hundreds of single routes there would be tens of thousands.
 */
export function routeClass(route: string): string {
  const [first = '', ...rest] = route.split('/').filter(Boolean)
  const name = first === 'api' || first === 'console' ? rest[1] : first
  return name ?? first
}
