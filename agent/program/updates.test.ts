import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOST_BUNDLES_PATH } from '#agent/contract'
import { silentLog } from '../../manager/log.ts'
import { type ProgramOrder } from './fetch-program.ts'
import { type HostPlaces, readInstallation } from './installation.ts'
import { openProgramUpdates } from './updates.ts'

const run = promisify(execFile)
const OLD = 'a'.repeat(64)
const NEW = 'b'.repeat(64)

let folder: string
let places: HostPlaces
let server: Server
let bundle: Buffer
let served: { status?: number; body?: Buffer; hangs?: boolean }
const asked: { path: string | undefined; ticket: string | undefined }[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-'))
  const programs = join(folder, 'programs')
  places = { programs, unit: join(folder, 'unit'), outcome: join(programs, 'update-outcome') }
  await writeProgram(join(programs, '1.0.0-old'), '1.0.0', OLD)
  await writeFile(places.unit, `ExecStart=${programs}/current/berth agent\n`)
  await writeProgram(join(folder, 'packed', 'berth'), '1.1.0', NEW)
  await run('tar', ['-czf', join(folder, 'bundle'), '-C', join(folder, 'packed'), 'berth'])
  bundle = await readFile(join(folder, 'bundle'))
  served = {}
  asked.length = 0
  server = createServer((request, response) => {
    asked.push({ path: request.url, ticket: request.headers.authorization })
    response.writeHead(served.status ?? 200)
    if (served.hangs) response.write(bundle.subarray(0, 10))
    else response.end(served.body ?? bundle)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  await rm(folder, { recursive: true, force: true })
})

async function writeProgram(at: string, version: string, digest: string): Promise<void> {
  await mkdir(at, { recursive: true })
  await writeFile(join(at, 'program.json'), JSON.stringify({ version, digest }))
  await writeFile(join(at, 'add-host.sh'), '')
  await writeFile(join(at, 'berth'), `#!/bin/sh\necho ${version}\n`)
  await chmod(join(at, 'berth'), 0o755)
}

const order = (more: Partial<ProgramOrder> = {}): ProgramOrder => ({
  id: randomUUID(),
  version: '1.1.0',
  digest: NEW,
  sha256: createHash('sha256').update(bundle).digest('hex'),
  bytes: bundle.length,
  ticket: 'ticket',
  ...more,
})
const from = () => ({
  proven: true,
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/below`,
  dial: () => Promise.resolve(connect((server.address() as AddressInfo).port, '127.0.0.1')),
})

function open(more: Partial<Parameters<typeof openProgramUpdates>[0]> = {}) {
  return openProgramUpdates({
    installation: readInstallation(join(places.programs, '1.0.0-old'), true, places),
    allowed: true,
    directory: folder,
    onChange: () => undefined,
    log: silentLog,
    places,
    start: () => Promise.resolve(),
    ...more,
  })
}
const begin = (updates: Awaited<ReturnType<typeof open>>, one = order()) =>
  updates.begin(one, from(), new AbortController().signal)

test('a program is fetched with the ticket, checked and unpacked; the script of the program in use does the rest', async () => {
  const units: (readonly string[])[] = []
  await using updates = await open({ start: (_unit, words) => Promise.resolve(units.push(words)) })
  const one = order()
  const name = `1.1.0-${one.sha256.slice(0, 12)}`
  await begin(updates, one)
  expect(asked).toEqual([{ path: `/below${HOST_BUNDLES_PATH}${one.sha256}`, ticket: 'Bearer ticket' }])
  expect((await readdir(places.programs)).toSorted()).toEqual(['1.0.0-old', name])
  expect(units).toEqual([['/bin/sh', join(places.programs, '1.0.0-old', 'add-host.sh'), `--switch=${name}`]])
  // The manager repeats the request, for example after it was started anew.
  await begin(updates, one)
  expect(units).toHaveLength(1)
})

test('the next agent finds the outcome that the script has left, and reports a failure with the id of the request', async () => {
  const one = order()
  {
    await using updates = await open()
    await begin(updates, one)
  }
  await writeFile(places.outcome, `failed 1.1.0-${one.sha256.slice(0, 12)}\nThe agent ended: no key.\n`)
  await using updates = await open()
  expect(updates.state()).toEqual({
    kind: 'line',
    digest: OLD,
    updates: true,
    failed: { id: one.id, why: 'The agent ended: no key.' },
  })
  await begin(updates)
  expect(updates.state().failed).toBeUndefined()
})

test.each([
  [
    'another archive than announced',
    () => (served.body = Buffer.from('strange')),
    {},
    /not what the manager announced/,
  ],
  ['a longer archive', () => undefined, { bytes: 10 }, /longer than announced/],
  ['another program than announced', () => undefined, { digest: 'c'.repeat(64) }, /another program/],
  ['a manager that refuses', () => (served.status = 401), {}, /HTTP 401/],
])('%s is refused, said in the report, and nothing of it stays', async (_what, prepare, more, words) => {
  prepare()
  await using updates = await open()
  const one = order(more)
  await expect(begin(updates, one)).rejects.toMatchObject({
    code: 'unavailable',
    detail: { why: expect.stringMatching(words) as string },
  })
  expect(updates.state().failed).toMatchObject({ id: one.id, why: expect.stringMatching(words) as string })
  expect(await readdir(places.programs)).toEqual(['1.0.0-old'])
})

test('an address may lead to several managers: one that does not know the ticket is asked again', async () => {
  served.status = 401
  server.on('request', () => {
    if (asked.length === 2) served = {}
  })
  await using updates = await open()
  await begin(updates)
  expect(asked).toHaveLength(3)
})

test.each([
  ['is kept by the host', { allowed: false }, 'update_off'],
  ['was installed in another way', { installation: { kind: 'package', digest: null, name: undefined } }, 'update_kind'],
] as const)('a program that %s is not replaced', async (_what, more, cause) => {
  await using updates = await open(more)
  await expect(begin(updates)).rejects.toMatchObject({ detail: { cause } })
  expect(asked).toEqual([])
})

test('a manager that has not proven its key replaces nothing', async () => {
  await using updates = await open()
  const refused = updates.begin(order(), { ...from(), proven: false }, new AbortController().signal)
  await expect(refused).rejects.toMatchObject({ detail: { cause: 'update_unproven' } })
  expect(asked).toEqual([])
})

test('a program says how it was installed', async () => {
  const root = join(places.programs, '1.0.0-old')
  expect(readInstallation(root, true, places)).toEqual({ kind: 'line', digest: OLD, name: '1.0.0-old' })
  expect(readInstallation(root, false, places).kind).toBe('terminal')
  await writeFile(places.unit, 'ExecStart=/srv/berth/berth agent\n')
  expect(readInstallation(root, true, places).kind).toBe('terminal')
  expect(readInstallation('/usr', true, { ...places, programs: '/nowhere' }).digest).toBeNull()
})

test.each(['manager', 'agent'])(
  'a download that ends because its %s stops is no failure, and leaves nothing',
  async what => {
    served.hangs = true
    const updates = await open()
    const stops = new AbortController()
    const begun = updates.begin(order(), from(), stops.signal)
    begun.catch(() => undefined)
    await expect.poll(() => asked.length).toBe(1)
    if (what === 'manager') {
      stops.abort(new Error('it stops'))
      // The next manager's order may come at once.
      served.hangs = false
      await begin(updates)
    }
    await updates[Symbol.asyncDispose]()
    await expect(begun).rejects.toThrow('stops')
    expect(updates.state().failed).toBeUndefined()
    expect((await readdir(places.programs)).filter(name => name.startsWith('.'))).toEqual([])
  },
)

test('what a killed agent was fetching is removed at the next start, and nothing of the script', async () => {
  for (const name of ['.update-x1', '.new-x1']) await mkdir(join(places.programs, name))
  await using _updates = await open()
  expect((await readdir(places.programs)).toSorted()).toEqual(['.new-x1', '1.0.0-old'])
})
