import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Sample {
  /** By label; each metric has the same labels in all of its samples. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface CollectedMetric {
  readonly name: string
  readonly help: string
  /** Names of the labels; none if left out. */
  readonly labels?: readonly string[]
  /** Called at every scrape. A number where there are no labels. */
  readonly collect: () => number | readonly Sample[] | Promise<number | readonly Sample[]>
}

/** Prometheus metrics of the manager. Other parts add metrics of their own; nothing here knows them. */
export interface Metrics {
  observeHttp(request: { method: string; route: string; status: number; seconds: number }): void
  /** What is so at the moment. */
  gauge(metric: CollectedMetric): void
  /** What only grows while the process lives; `collect` gives the total. */
  total(metric: CollectedMetric): void
  /** @returns counts one, by its labels */
  counter(metric: Omit<CollectedMetric, 'collect'>): (labels?: Readonly<Record<string, string>>) => void
  /** @param buckets upper bounds, seconds @returns notes one duration, in seconds */
  duration(metric: { name: string; help: string; buckets: readonly number[] }): (seconds: number) => void
  /** Text format, for /metrics. */
  render(): Promise<{ type: string; text: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'berth_' })
  const http = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Time from the request line to the end of the reply.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  return {
    observeHttp: ({ method, route, status, seconds }) =>
      http.observe({ method, route, status: String(status) }, seconds),
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
