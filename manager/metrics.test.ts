import { expect, test } from 'vitest'
import { ROUTES } from '#manager/contract'
import { createMetrics, routeClass } from './metrics.ts'

test.each([
  ['/api/v1/sessions/:id/logs', 'sessions'],
  ['/api/v1/me', 'me'],
  ['/console/v1/sign-in/start', 'sign-in'],
  ['/healthz', 'healthz'],
  ['none', 'none'],
])('requests to %s are counted as %s', (route, name) => expect(routeClass(route)).toBe(name))

test('the durations of all routes with all outcomes fit into a page that a scraper reads in a moment', async () => {
  const metrics = createMetrics()
  for (const { method, path } of Object.values(ROUTES)) {
    for (const status of [200, 201, 400, 403, 404, 409, 503])
      metrics.observeHttp({ method, route: path, status, seconds: 0.01 })
  }
  const { text } = await metrics.render()
  expect(text).toMatch(
    /^berth_http_request_duration_seconds_count\{method="GET",route="sessions",status="4xx"\} [1-9]\d*$/m,
  )
  expect(text).not.toContain('status="404"')
  expect(text.length).toBeLessThan(450_000)
})
