import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LOG_CUT } from '#agent/contract'
import { type ApiClient, type Session } from '#manager/contract'
import { type Berth, type Outcome, startBerth } from '../fixtures/berth.ts'
import { busyboxImage, docker, importImage, madeContainer } from '../fixtures/docker.ts'

const IMAGE = 'berth/python:3.13'
const SIZE = ['--image', IMAGE, '--cpu', '0.5', '--mem', '256m'] as const

let berth: Berth
let api: ApiClient
beforeAll(async () => {
  berth = await startBerth()
  api = await berth.api()
})
afterAll(() => berth[Symbol.asyncDispose]())

const create = (name: string, ...flags: string[]): Promise<Outcome> =>
  berth.cli('session', 'create', ...SIZE, '--name', name, '--json', ...flags)
const sessionOf = ({ stdout, stderr }: Outcome): Session => {
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Session
}
const show = async (name: string): Promise<Session> => sessionOf(await berth.cli('session', 'show', name, '--json'))
/** Polls use the manager's API, because each `berth` command is a separate process. */
const get = ({ id }: Pick<Session, 'id'>): Promise<Session> => api.getSession({ params: { id } })
const textOf = async ({ id }: Pick<Session, 'id'>): Promise<string> =>
  (await api.getSessionLogs({ params: { id }, query: {} })).text
const logs = async (name: string): Promise<string> => (await berth.cli('session', 'logs', name)).stdout

describe('a batch session', () => {
  test('a batch session ends with its command, whose output and exit code are kept', async () => {
    const done = await create('well', '--batch', '--command', 'echo "from $(id -un)"; exit 0', '--wait')
    expect(done.code).toBe(0)
    const session = sessionOf(done)
    expect(session).toMatchObject({
      kind: 'batch',
      status: 'TERMINATED',
      result: 'success',
      reason: { code: 'exited' },
    })
    expect(session.kernels[0]?.exitCode).toBe(0)
    // The log must be there at once: a client that waited for the end reads it next.
    expect(await logs(session.id)).toBe('from work\n')
  })

  test('its log is there as a whole at once, and the end of it says that there is more', async () => {
    const command = `seq -f 'line %08g of the training log, loss=0.123456' 1 20000`
    const session = sessionOf(await create('wordy', '--batch', '--command', command, '--wait'))
    const whole = await berth.cli('session', 'logs', session.id, '--all')
    expect([whole.code, whole.stderr]).toEqual([0, ''])
    const lines = whole.stdout.split('\n')
    expect([lines.length, lines[0]]).toEqual([20_001, 'line 00000001 of the training log, loss=0.123456'])
    const end = await berth.cli('session', 'logs', session.id, '--tail', '50000')
    expect(end.stdout.startsWith(`${LOG_CUT}\nline 000`)).toBe(true)
    expect(end.stderr).toContain('--all')
    const file = join(await mkdtemp(join(tmpdir(), 'berth-test-log-')), 'run.log')
    expect((await berth.cli('session', 'logs', session.id, '--output', file)).code).toBe(0)
    expect(await readFile(file, 'utf8')).toBe(whole.stdout)
    await rm(dirname(file), { recursive: true })
  })

  test('a batch session that fails makes the waiting command fail', async () => {
    const done = await create('badly', '--batch', '--command', 'echo oh no >&2; exit 3', '--wait')
    expect(done.code).toBe(1)
    const session = sessionOf(done)
    expect(session).toMatchObject({ status: 'TERMINATED', result: 'failure' })
    expect(session.kernels[0]?.exitCode).toBe(3)
    expect(session.reason.message).toContain('exit code 3')
    expect(done.stderr).toContain('exit code 3')
    expect(await logs(session.id)).toBe('oh no\n')
  })

  test('a running batch session can be entered, and is not idle', async () => {
    const made = sessionOf(
      await create(
        'inside',
        '--batch',
        '--command',
        'until [ -e ~/go ]; do sleep 0.1; done; cat ~/go',
        '--idle-timeout',
        '1s',
      ),
    )
    expect(made.idleTimeoutSeconds).toBeNull()
    await expect.poll(async () => (await get(made)).status).toBe('RUNNING')
    const { code } = await berth.cli('ssh', 'inside', '--', 'echo by hand > ~/next && mv ~/next ~/go')
    expect(code).toBe(0)
    await expect.poll(async () => (await get(made)).result).toBe('success')
    expect(await logs(made.id)).toBe('by hand\n')
  })

  test('a batch session that its time limit ends has not succeeded', async () => {
    const done = await create('endless', '--batch', '--command', 'sleep 1000', '--max-lifetime', '3s', '--wait')
    expect(done.code).toBe(1)
    expect(sessionOf(done)).toMatchObject({ status: 'TERMINATED', result: 'failure', reason: { code: 'max_lifetime' } })
  })

  test('a batch session saves its work when it is warned, makes room, and continues with its files', async () => {
    const options = { interruption: { minRunSeconds: 0, warnSeconds: 8 } }
    const set = (to: object) => api.updateResourceGroup({ params: { name: 'default' }, body: { options: to } })
    onTestFinished(async () => void (await set({})))
    await set(options)
    // A process that does not know the signal must survive it.
    const script = `
      [ ! -e ~/saved ] || { echo "continued with $(cat ~/saved), warned of $(cat ~/when), other $(cat ~/other)"; exit 0; }
      trap 'cat /run/berth/interruption > ~/when; echo step $n > ~/saved' USR1
      n=0; sleep 3600 & other=$!
      while :; do
        n=$((n + 1)); sleep 0.1 & wait $!
        [ ! -e ~/saved ] || { kill -0 $other && echo alive > ~/other; }
      done`
    const made = sessionOf(await create('polite', '--batch', '--interruptible', '--command', script))
    await expect.poll(async () => (await get(made)).status).toBe('RUNNING')
    const container = docker.getContainer((await get(made)).kernels[0]?.containerId ?? '')
    // A terminal like that of a person; it ends with the session.
    const { User } = (await container.inspect()).Config
    const exec = await container.exec({ Cmd: ['sleep', '3600'], User, Tty: true, AttachStdout: true })
    const terminal = text(await exec.start({ hijack: false, stdin: false, Tty: true }))
    const [agent] = (await api.listAgents()).items
    const free = Number(agent?.capacity.cpu) - Number(agent?.occupied.cpu)
    const more = ['--cpu', String(free + 0.25), '--priority', '5', '--batch', '--command', 'sleep 2']
    const urgent = sessionOf(await create('urgent', ...more))
    await expect.poll(async () => (await get(made)).interruptAt).not.toBeNull()
    const { interruptAt } = await get(made)
    await expect.poll(async () => (await get(urgent)).result).toBe('success')
    await expect.poll(async () => (await get(made)).result).toBe('success')
    expect(await textOf(made)).toMatch(/^continued with step \d+, warned of (\S+), other alive\n$/)
    expect(await textOf(made)).toContain(interruptAt)
    expect(await get(made)).toMatchObject({ id: made.id, interruptions: 1 })
    expect(await terminal).toContain(`makes room for one of higher priority at ${interruptAt?.slice(11, 19)} UTC`)
  })

  test('a batch session needs a command', async () => {
    const refused = await create('nothing', '--batch')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--command')
  })
})

test('an interactive session continues after its start-up command, also if that failed', async () => {
  const made = await create('stays', '--command', 'echo prepared > ~/ready; exit 7', '--wait')
  expect(made.code).toBe(0)
  const session = sessionOf(made)
  expect(session.result).toBeNull()
  await expect.poll(() => textOf(session)).toContain('exit code 7')
  expect((await berth.cli('ssh', 'stays', '--', 'cat ~/ready')).stdout).toBe('prepared\n')
  expect((await show('stays')).status).toBe('RUNNING')
  expect((await berth.cli('session', 'rm', 'stays', '--wait')).code).toBe(0)
})

test('usage of a session is exact: CPU seconds come from the counters of its container', async () => {
  // Uses this much CPU time, however long that takes on a busy machine, and then waits for the last statistics.
  const burn = 'import time\nwhile time.process_time() < 1.5: pass\ntime.sleep(4)'
  const burner = sessionOf(await create('burner', '--batch', '--wait', '--command', `python3 -c '${burn}'`))
  await expect.poll(async () => (await get(burner)).usage?.cpuSeconds).toBeGreaterThan(1.45)
  const { usage } = await show(burner.id)
  expect(usage?.cpuSeconds).toBeLessThan(3)
  expect(usage?.gpuSeconds).toBe(0)
  expect(usage?.memPeakBytes).toBeGreaterThan(100_000)
  const { items } = JSON.parse((await berth.cli('session', 'stats', burner.id, '--json')).stdout) as {
    items: unknown[]
  }
  expect(items.length).toBeGreaterThan(0)
})

describe('the program of an image', () => {
  const SERVER = 'berth-test/program:1'
  const BARE = 'berth-test/no-program:1'
  beforeAll(async () => {
    const entry = Buffer.from('#!/bin/sh\necho "in $PWD with $*"\nexec "$@"\n')
    await using container = await madeContainer({ Image: await busyboxImage(), Cmd: ['true'] })
    const archive = pack()
    archive.entry({ name: 'srv/entry.sh', mode: 0o755 }, entry)
    archive.finalize()
    await container.putArchive(archive as unknown as NodeJS.ReadableStream, { path: '/' })
    const commit = (reference: string, ...changes: string[]) => {
      const [repo, tag] = reference.split(':')
      return container.commit({ repo, tag, changes: changes.join('\n') })
    }
    await commit(
      SERVER,
      'WORKDIR /srv',
      'ENTRYPOINT ["/srv/entry.sh"]',
      'CMD ["sh", "-c", "echo ready; exec sleep 600"]',
    )
    await importImage(BARE, { 'etc/nothing': Buffer.from('') })
  })
  afterAll(async () => {
    await Promise.all([SERVER, BARE].map(image => docker.getImage(image).remove({ force: true })))
  })

  const launch = (image: string, ...flags: string[]) =>
    berth.cli('session', 'create', '--image', image, '--cpu', '0.5', '--mem', '256m', '--json', '--wait', ...flags)
  const whenListed = (image: string) =>
    expect.poll(async () => (await api.listImages()).items.map(({ reference }) => reference)).toContain(image)

  test('the program runs in its directory, as the user of the session, with its output in the log; the session stays open', async () => {
    await whenListed(SERVER)
    const session = sessionOf(await launch(SERVER, '--name', 'program', '--image-command'))
    expect(session).toMatchObject({ runImageCommand: true, startupCommand: null, status: 'RUNNING' })
    await expect.poll(() => textOf(session)).toBe('in /srv with sh -c echo ready; exec sleep 600\nready\n')
    const { stdout } = await berth.cli('ssh', 'program', '--', 'ps -o user,args | grep "[s]leep 600"')
    expect(stdout).toMatch(/^work\s+sleep 600$/m)
    expect((await berth.cli('session', 'rm', 'program', '--wait')).code).toBe(0)
  })

  test('the program does not run unless requested, and not together with a command', async () => {
    const both = await launch(SERVER, '--image-command', '--command', 'true')
    expect(both.code).toBe(2)
    expect(both.stderr).toContain('leave one of them out')
    expect(sessionOf(await launch(SERVER, '--name', 'without'))).toMatchObject({ runImageCommand: false })
    expect((await berth.cli('session', 'logs', 'without')).stderr).toContain('runs only if that is chosen at launch')
    expect((await berth.cli('session', 'rm', 'without', '--wait')).code).toBe(0)
  })

  test('a request for the program of an image without one fails at the first attempt, with the reason', async () => {
    await whenListed(BARE)
    const failed = await launch(BARE, '--name', 'bare', '--image-command')
    expect(failed.code).toBe(1)
    expect((await show('bare')).reason.message).toContain('ENTRYPOINT and CMD are empty')
  })
})
