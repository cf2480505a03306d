import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addToFile, MCP_CLIENTS, settingsOf, withSettings } from './client-settings.ts'

const ENDPOINT = 'https://berth.example.org'

test('a client starts `berth mcp` with the address, and without a token of anybody', () => {
  const start = { command: 'berth', args: ['mcp'], env: { BERTH_ENDPOINT: ENDPOINT } }
  for (const client of MCP_CLIENTS) {
    const settings = settingsOf(client, ENDPOINT)
    expect(Object.values(settings)).toContainEqual({ berth: expect.objectContaining({ command: 'berth' }) as unknown })
    expect(JSON.stringify(settings)).not.toContain('berth_')
  }
  expect(settingsOf('cursor', ENDPOINT)).toMatchObject({ mcpServers: { berth: start } })
  expect(settingsOf('vscode', ENDPOINT)).toMatchObject({ servers: { berth: start }, inputs: [{ password: true }] })
})

test('what else is in the file stays, and our own entry is replaced', () => {
  const other = { inputs: [{ id: 'other' }], servers: { other: { command: 'x' } }, theme: 'dark' }
  const once = withSettings(other, settingsOf('vscode', 'https://old.example.org'))
  const twice = withSettings(once, settingsOf('vscode', ENDPOINT))
  expect(twice).toMatchObject({ theme: 'dark', servers: { other: { command: 'x' } } })
  expect(twice.inputs).toEqual([{ id: 'other' }, expect.objectContaining({ id: 'berth-token' })])
  expect(JSON.stringify(twice)).not.toContain('old.example.org')
})

test('the file is for its user only, and one with comments is left as it is', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-mcp-'))
  try {
    const file = join(directory, 'new', 'mcp.json')
    await addToFile(file, settingsOf('cursor', ENDPOINT))
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(settingsOf('cursor', ENDPOINT))
    if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600)
    const commented = join(directory, 'commented.json')
    await writeFile(commented, '// mine\n{}')
    await expect(addToFile(commented, {})).rejects.toMatchObject({ code: 'bad_request' })
    expect(await readFile(commented, 'utf8')).toBe('// mine\n{}')
  } finally {
    await rm(directory, { recursive: true })
  }
})
