import { type ServerResponse } from 'node:http'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAIN } from '../../fixtures/cli.ts'
import { type ScriptedApi, startScriptedApi } from '../../fixtures/scripted-api.ts'

/** More than any answer of a manager that is read as a whole. */
const TOO_LONG = 80 * 1024 * 1024
const FOLDER = '01900000-0000-7000-8000-000000000001'
const file = { name: 'data', kind: 'file', size: 10, modifiedAt: '2026-01-01T00:00:00Z', etag: '"1"' }

/** Valid JSON behind so many spaces that a client without a limit takes it, and one with a limit does not. */
const padded = (value: object) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write(Buffer.alloc(TOO_LONG, ' '))
  response.end(JSON.stringify(value))
}

let api: ScriptedApi
let client: Client
beforeAll(async () => {
  api = await startScriptedApi({
    'GET /api/v1/me': { accessToken: { scopes: ['read', 'files'] } },
    'GET /api/v1/sessions': padded({ items: [], total: 0 }),
    'GET /api/v1/folders': (response: ServerResponse) => {
      response.writeHead(403, { 'content-type': 'application/problem+json' }).write(Buffer.alloc(TOO_LONG, ' '))
      response.end('{}')
    },
    [`GET /api/v1/folders/${FOLDER}/entry`]: file,
    [`GET /api/v1/folders/${FOLDER}/content`]: padded({}),
    'GET /api/v1/openapi.json': padded({}),
  })
  const env = { ...(process.env as Record<string, string>), ...api.environment, BERTH_TOKEN: 'berth_of-a-test' }
  client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], env }))
})
afterAll(async () => {
  await client.close()
  await api[Symbol.asyncDispose]()
})

test.each([
  ['list_sessions', {}],
  ['list_folders', {}],
  ['read_file', { folder: FOLDER, path: 'data' }],
])('an answer that is longer than any of a manager is given up: %s', async (name, input) => {
  const { isError, content } = await client.callTool({ name, arguments: input })
  expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('too long an answer')])
})

test('so is a document', async () => {
  await expect(client.readResource({ uri: 'berth://docs/openapi.json' })).rejects.toThrow('too long an answer')
})
