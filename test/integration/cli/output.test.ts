import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { type ScriptedApi, startScriptedApi } from '../../fixtures/scripted-api.ts'

// Many times the capacity of a pipe.
const MANY = Array.from({ length: 500 }, (_, at) => ({ id: `session-${at}`, name: 'x'.repeat(2_000) }))
const ME = { user: { id: 'me', email: 'me@localhost', role: 'user' } }
const LIST = ['session', 'ls', '--all', '--json']
const root = join(import.meta.dirname, '../../..')

let api: ScriptedApi
let cli: Cli
beforeAll(async () => {
  api = await startScriptedApi({
    'GET /api/v1/sessions': { items: MANY, nextCursor: null, total: MANY.length },
    'GET /api/v1/me': ME,
    'POST /api/v1/sessions': new AppError('group_needed', because('choose_project', { projects: 'speech, vision' })),
    'GET /api/v1/audit-log/export': response => response.end(JSON.stringify(MANY)),
  })
  cli = await createCli()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

describe('output into a pipe', () => {
  test.each(['cli/main.ts', 'bin/berth'])('output reaches a slow reader whole (%s)', async script => {
    const env = { ...cleanEnvironment(), ...api.environment }
    const child = spawn(process.execPath, [join(root, script), ...LIST], { env })
    await once(child.stdout, 'readable')
    await delay(500) // the command has finished long before, except for its output
    expect((JSON.parse(await text(child.stdout)) as unknown[]).length).toBe(MANY.length)
  })

  test.each([LIST, ['admin', 'audit', 'export']])(
    'a reader that closes early, as `head -1` does, is no failure: %s',
    async (...args) => {
      const child = cli.start(args, api.environment)
      child.stdout.once('data', () => child.stdout.destroy())
      const [code, err] = await Promise.all([once(child, 'exit').then(([code]) => code as number), text(child.stderr)])
      expect({ code, err }).toEqual({ code: 0, err: '' })
    },
  )

  test('a full disk is a failure', async () => {
    const command = `exec "${process.execPath}" cli/main.ts ${LIST.join(' ')} > /dev/full`
    const child = spawn('sh', ['-c', command], { cwd: root, env: { ...cleanEnvironment(), ...api.environment } })
    const { code, err } = await outcomeOf(child)
    expect(code).toBe(1)
    expect(err).toMatch(/^berth: The output cannot be written: ENOSPC.*\n$/)
  })
})

describe('failures with --json', () => {
  test.each([
    [['session', 'ls', '--json', '--nonsense'], "unknown option '--nonsense'"],
    [['session', 'create', '--json'], 'Name an image with --image, or a --template.'],
    [['session', 'priority', 'x', '99', '--json'], 'The value must be a whole number from -10 to 10.'],
  ])('a failure of the command line is JSON: %s', async (args, why) => {
    const { code, out, err } = await cli.run(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    const { error } = JSON.parse(err) as { error: { code: string; message: string } }
    expect(error.code).toBe('bad_request')
    expect(error.message).toContain(why)
  })

  test('without --json a failure is plain text', async () => {
    const { code, err } = await cli.run(['session', 'priority', 'x', '99'])
    expect(code).toBe(2)
    expect(err).toContain('The value must be a whole number from -10 to 10.')
  })
})

test.each([
  ['session', 'create', '--image', 'a/b:1'],
  ['run', '--image', 'a/b:1', '--', 'true'],
])('a refusal that asks for a choice names the option that gives it: berth %s', async (...args) => {
  const refusal = 'berth: A project is needed: Choose one of yours: speech, vision. (group_needed)\n'
  expect((await cli.run(args, '', api.environment)).err).toBe(`${refusal}  Option: --project <name>\n`)
})
