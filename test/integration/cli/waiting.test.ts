import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError, type Session, type Task } from '#manager/contract'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { type CliOutcome } from '../../fixtures/cli-call.ts'
import { type ScriptedApi, startScriptedApi } from '../../fixtures/scripted-api.ts'

const ID = '01980000-0000-7000-8000-000000000001'
const session = (status: string, changes: object = {}) => ({
  id: ID,
  name: 'job',
  kind: 'batch',
  launchedBy: null,
  status,
  result: status === 'TERMINATED' ? 'success' : null,
  reason: { code: 'x', message: `It is ${status}.` },
  ...changes,
})
const CREATE = ['session', 'create', '--image', 'x', '--batch', '--command', 'true', '--wait', '--json']
const made = { items: [session('PENDING')], notices: [] }

let cli: Cli
beforeAll(async () => {
  cli = await createCli()
})
afterAll(() => cli[Symbol.asyncDispose]())

const runAt = (api: ScriptedApi, args: readonly string[]): Promise<CliOutcome> => cli.run(args, '', api.environment)

describe('--wait', () => {
  test('--wait survives a restart of the manager and a rate limit, and mentions each once', async () => {
    const away = new AppError('unavailable', { why: 'The manager is stopping.' })
    await using api = await startScriptedApi({
      'POST /api/v1/sessions': made,
      [`GET /api/v1/sessions/${ID}`]: [
        away,
        response => response.destroy(),
        response => response.writeHead(200, { 'content-length': '99' }).write('{', () => response.destroy()),
        session('RUNNING'),
        new AppError('rate_limited', { why: 'Try again in 2 s.', retryAfterSeconds: 2 }),
        session('TERMINATED'),
      ],
    })
    const startedAt = performance.now()
    const { code, out, err } = await runAt(api, CREATE)
    expect(code).toBe(0)
    expect((JSON.parse(out) as Session).status).toBe('TERMINATED')
    expect(err.match(/Still waiting: .*/g)).toEqual([
      'Still waiting: Berth is not available right now: The manager is stopping. (unavailable)',
      'Still waiting: Too many requests: Try again in 2 s. (rate_limited)',
    ])
    expect(performance.now() - startedAt).toBeGreaterThan(2_000)
  })

  test('--wait ends at a permanent failure', async () => {
    await using api = await startScriptedApi({
      'POST /api/v1/sessions': made,
      [`GET /api/v1/sessions/${ID}`]: new AppError('session_not_found'),
    })
    expect(await runAt(api, CREATE)).toMatchObject({ code: 4, out: '' })
    expect(api.asked.length).toBe(2)
  })

  test('--wait on several sessions asks for all of them at once, and then for each one only until its end', async () => {
    const other = ID.replace(/1$/, '2')
    await using api = await startScriptedApi({
      'POST /api/v1/sessions': { items: [session('PENDING'), session('PENDING', { id: other })], notices: [] },
      'GET /api/v1/sessions': [
        { items: [session('RUNNING'), session('RUNNING', { id: other })], nextCursor: null, total: 2 },
        { items: [], nextCursor: null, total: 0 },
      ],
      [`GET /api/v1/sessions/${ID}`]: session('TERMINATED'),
      [`GET /api/v1/sessions/${other}`]: session('TERMINATED', { id: other }),
    })
    const { code, out } = await runAt(api, [...CREATE, '--count', '2'])
    expect(code).toBe(0)
    expect((JSON.parse(out) as Session[]).map(one => [one.id, one.status])).toEqual([
      [ID, 'TERMINATED'],
      [other, 'TERMINATED'],
    ])
    expect(api.asked.length).toBe(5)
  })

  test.each([
    ['success', 0],
    ['failure', 1],
  ])('--wait follows a batch session that starts again and ends with %s', async (result, expected) => {
    const next = ID.replace(/1$/, '2')
    await using api = await startScriptedApi({
      [`GET /api/v1/sessions/${ID}`]: session('TERMINATED', { result: 'failure' }),
      [`POST /api/v1/sessions/${ID}/restart`]: session('PENDING', { id: next }),
      [`GET /api/v1/sessions/${next}`]: session('TERMINATED', { id: next, result }),
    })
    const { code, out } = await runAt(api, ['session', 'restart', ID, '--wait', '--json'])
    expect(JSON.parse(out)).toMatchObject({ id: next, result })
    expect(code).toBe(expected)
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '--wait that is interrupted by %s exits with %i and lists the sessions that were made',
    async (signal, expected) => {
      await using api = await startScriptedApi({
        'POST /api/v1/sessions': made,
        [`GET /api/v1/sessions/${ID}`]: session('PREPARING'),
      })
      const child = cli.start(CREATE, api.environment)
      child.stderr.on('data', (chunk: Buffer) => {
        if (chunk.includes('PREPARING')) child.kill(signal)
      })
      const { code, out, err } = await outcomeOf(child)
      expect(code).toBe(expected)
      expect(JSON.parse(out)).toMatchObject({ id: ID, status: 'PREPARING' })
      expect(err).toContain('berth session rm')
    },
  )
})

test('Ctrl-C between two sessions of berth session rm leaves the second one running', async () => {
  const other = ID.replace(/1$/, '2')
  await using api = await startScriptedApi({
    [`GET /api/v1/sessions/${ID}`]: session('RUNNING'),
    [`DELETE /api/v1/sessions/${ID}`]: response => {
      child.kill('SIGINT')
      const answer = JSON.stringify(session('TERMINATING'))
      setTimeout(() => response.writeHead(202, { 'content-type': 'application/json' }).end(answer), 300)
    },
    [`GET /api/v1/sessions/${other}`]: session('RUNNING', { id: other }),
    [`DELETE /api/v1/sessions/${other}`]: session('TERMINATING', { id: other }),
  })
  const child = cli.start(['session', 'rm', ID, other, '--json'], api.environment)
  const { code, out } = await outcomeOf(child)
  expect(code).toBe(130)
  expect((JSON.parse(out) as Session[]).map(({ id }) => id)).toEqual([ID])
  expect(api.asked.at(-1)).toBe(`DELETE /api/v1/sessions/${ID}`)
})

test('Ctrl-C during a rescan of all registries cancels the current rescan and starts no further one', async () => {
  const progress = { repositoriesDone: 0, repositoriesTotal: 1, tagsDone: 0, tagsTotal: 0, images: 0 }
  const task = (status: Task['status']) => ({
    id: ID,
    target: 'a',
    status,
    error: null,
    rescan: { ...progress, unlabelled: 0, removed: 0, problemsTotal: 0, problems: [] },
  })
  await using api = await startScriptedApi({
    'GET /api/v1/registries': { items: ['a', 'b'].map(name => ({ name, active: true })) },
    'POST /api/v1/registries/a/rescan': task('running'),
    'POST /api/v1/registries/b/rescan': task('running'),
    [`GET /api/v1/tasks/${ID}`]: [...Array<object>(3).fill(task('running')), task('cancelled')],
    [`DELETE /api/v1/tasks/${ID}`]: task('running'),
  })
  const child = cli.start(['admin', 'registry', 'rescan', '--json'], api.environment)
  child.stderr.once('data', () => child.kill('SIGINT'))
  const { code, out } = await outcomeOf(child)
  expect(code).toBe(130)
  expect((JSON.parse(out) as Task[]).map(one => one.status)).toEqual(['cancelled'])
  const changes = api.asked.filter(what => !what.startsWith('GET'))
  expect(changes).toEqual(['POST /api/v1/registries/a/rescan', `DELETE /api/v1/tasks/${ID}`])
})

describe('an SSH key that berth generates', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-test-key-'))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))
  const generate = (api: ScriptedApi, file: string) => runAt(api, ['ssh-keypair', 'generate', '--out', file])

  test('no key file is left behind when its creation fails, and the next attempt succeeds', async () => {
    await using api = await startScriptedApi({
      'POST /api/v1/me/ssh-keypair': [
        // A code after which the command does not try again.
        new AppError('user_exists'),
        { publicKey: 'public', fingerprint: 'SHA256:x', privateKey: 'private\n' },
      ],
    })
    const file = join(directory, 'second-try')
    expect(await generate(api, file)).toMatchObject({ code: 1 })
    await expect(access(file)).rejects.toThrow()
    await expect(access(`${file}.pub`)).rejects.toThrow()
    expect(await generate(api, file)).toMatchObject({ code: 0 })
    expect([await readFile(file, 'utf8'), await readFile(`${file}.pub`, 'utf8')]).toEqual(['private\n', 'public\n'])
  })

  test('an existing public key is never overwritten, and no private key is made for it', async () => {
    await using api = await startScriptedApi({})
    const file = join(directory, 'taken')
    await writeFile(`${file}.pub`, 'of somebody')
    expect(await generate(api, file)).toMatchObject({ code: 2 })
    expect(await readFile(`${file}.pub`, 'utf8')).toBe('of somebody')
    await expect(access(file)).rejects.toThrow()
    expect(api.asked).toEqual([])
  })
})
