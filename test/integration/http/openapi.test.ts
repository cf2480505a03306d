import SwaggerParser from '@apidevtools/swagger-parser'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly responses: Record<string, { description?: string; content?: Record<string, { schema?: { $ref?: string } }> }>
}
interface Description {
  readonly paths: Record<string, Record<string, Operation>>
}

let manager: TestManager
let source: string
let description: Description
beforeAll(async () => {
  manager = await startTestManager()
  const { text } = await rawRequest(`${manager.url}/api/v1/openapi.json`)
  source = text
  description = JSON.parse(source) as Description
})
afterAll(() => manager[Symbol.asyncDispose]())

test('the description is sent compressed, and once to a client that keeps it', async () => {
  const url = `${manager.url}/api/v1/openapi.json`
  for (const [accepted, coding] of [
    ['br, gzip;q=0.8', 'gzip'],
    ['deflate, gzip;q=0', null],
  ] as const) {
    const reply = await fetch(url, { headers: { 'accept-encoding': accepted } })
    expect(reply.headers.get('content-encoding')).toBe(coding)
    expect(reply.headers.get('vary')).toBe('Accept-Encoding')
    const sent = Number(reply.headers.get('content-length'))
    if (coding === null) expect(sent).toBe(Buffer.byteLength(source))
    else expect(sent).toBeLessThan(Buffer.byteLength(source) / 5)
    expect(await reply.text()).toBe(source)
    const etag = reply.headers.get('etag') ?? ''
    const again = await fetch(url, { headers: { 'accept-encoding': accepted, 'if-none-match': `"other", ${etag}` } })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
    expect((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  }
})

test('swagger-parser accepts the description', async () => {
  await expect(SwaggerParser.validate(structuredClone(description) as never)).resolves.toBeDefined()
})

test('redocly finds no violation of its recommended rules', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const told = problems.map(
    ({ ruleId, severity, message, location }) => `${severity} ${ruleId} ${location[0]?.pointer}: ${message}`,
  )
  expect(told).toEqual([])
})

test('every operation names problem documents for refused requests and for internal errors', () => {
  const operations = Object.values(description.paths).flatMap(methods => Object.values(methods))
  expect(operations.length).toBeGreaterThan(100)
  for (const { operationId, responses } of operations) {
    const refusals = Object.entries(responses).filter(([status]) => Number(status) >= 400)
    for (const [, { content = {} }] of refusals) {
      expect(Object.keys(content), operationId).toEqual(['application/problem+json'])
      expect(content['application/problem+json']?.schema?.$ref, operationId).toBe('#/components/schemas/Problem')
    }
    const statuses = refusals.map(([status]) => status)
    expect(statuses, operationId).toEqual(expect.arrayContaining(['403', '429', '500', '503']))
  }
})

test('operations and answers have words for people', () => {
  const operations = Object.values(description.paths).flatMap(methods => Object.values(methods))
  for (const { operationId, summary, description: words, responses } of operations) {
    expect(summary, operationId).toMatch(/^[^.]/)
    if (operationId !== 'events') expect(words, operationId).toContain(summary)
    const success = Object.entries(responses).filter(([status]) => Number(status) < 400)
    expect(
      success.map(([, { description: text }]) => text),
      operationId,
    ).not.toContain('Default Response')
  }
  const byName = new Map(operations.map(operation => [operation.operationId, operation]))
  expect(byName.get('createResourcePolicy')?.description).toContain('For superadmins.')
})
