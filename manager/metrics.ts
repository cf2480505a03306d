import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Prometheus metrics of the manager. Other parts add gauges of their own; nothing here knows them. */
export interface Metrics {
  observeHttp(request: { method: string; route: string; status: number; seconds: number }): void
  /** @param collect called at every scrape; one value per label value, or a number */
  gauge(spec: {
    name: string
    help: string
    label?: string
    collect: () => number | Readonly<Record<string, number>> | Promise<number | Readonly<Record<string, number>>>
  }): void
  /** Text format, for /metrics. */
  render(): Promise<{ type: string; text: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'berth_' })
  const http = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Time from the request line to the end of the reply.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [registry],
  })
  return {
    observeHttp: ({ method, route, status, seconds }) =>
      http.observe({ method, route, status: String(status) }, seconds),
    gauge({ name, help, label, collect }) {
      new Gauge({
        name,
        help,
        labelNames: label === undefined ? [] : [label],
        registers: [registry],
        async collect() {
          const value = await collect()
          this.reset()
          if (typeof value === 'number') this.set(value)
          else for (const [key, amount] of Object.entries(value)) this.set({ [label ?? 'kind']: key }, amount)
        },
      })
    },
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}
