import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type ApiClient, type CommandResult, type CommandSpec, isAppError, type SessionId } from '#manager/contract'
import { type Berth, type BerthUser, root, startBerth } from '../fixtures/berth.ts'

/** Commands by the API and by `berth exec`, in a real session. */
const stack = new AsyncDisposableStack()
let berth: Berth
let owner: BerthUser
let other: BerthUser
let id: SessionId

beforeAll(async () => {
  berth = stack.use(await startBerth())
  owner = await berth.user('owner@example.org')
  other = await berth.user('other@example.org')
  const flags = ['--image', 'berth/python:3.13', '--name', 'work', '--cpu', '1', '--mem', '512m', '--wait', '--json']
  const created = await owner.cli('session', 'create', '--env', 'OF_SESSION=yes', ...flags)
  if (created.code !== 0) throw new Error(created.stderr)
  id = (JSON.parse(created.stdout) as { id: SessionId }).id
})
afterAll(() => stack.disposeAsync())

const run = (body: CommandSpec, api: ApiClient = owner.api) =>
  api.runCommand({ params: { id }, body: { waitSeconds: 30, ...body } })
const shell = (command: string, more: Partial<CommandSpec> = {}) => run({ command, ...more })
const at = ({ id: commandId }: CommandResult) => ({ params: { id, commandId } })
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  )

test('a command has both streams apart, its exit code, and the environment of terminals', async () => {
  const result = await shell('echo out; echo err >&2; echo "$OF_SESSION $PWD $(id -un)" ${LD_PRELOAD+set}; exit 7')
  expect(result).toMatchObject({
    status: 'ENDED',
    reason: 'exited',
    exitCode: 7,
    stdout: 'out\nyes /home/work work\n',
    stderr: 'err\n',
    truncated: false,
  })
  expect(result).not.toHaveProperty('userId')
})

test('words are passed on as they are, with input, directory and variables', async () => {
  const words = ['python3', '-c', 'import os,sys; print(sys.argv[1:], os.getcwd(), os.environ["A"], sys.stdin.read())']
  const result = await run({
    command: [...words, 'a b', "it's", '$HOME', ''],
    stdin: 'given',
    workingDirectory: '/tmp',
    environ: { A: "x'y\nz" },
  })
  expect(result.stdout).toBe(`['a b', "it's", '$HOME', ''] /tmp x'y\nz given\n`)
  expect((await run({ command: ['no-such-program'] })).exitCode).toBe(127)
  expect((await shell('echo here', { workingDirectory: 'nowhere' })).exitCode).toBe(126)
  expect((await shell('kill -TERM $$')).exitCode).toBe(143)
})

test('over MCP, a token runs commands and reads the log of the session that it launched, as data of programs', async () => {
  const { token } = await owner.api.createAccessToken({ body: { name: 'agent', scopes: ['read', 'launch', 'enter'] } })
  await using client = Object.assign(new Client({ name: 'test', version: '1' }), {
    [Symbol.asyncDispose]: () => client.close(),
  })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', berth.url), { requestInit: { headers } }))
  const call = async (name: string, input: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: input })).structuredContent
  const launched = (await call('launch_session', {
    image: 'berth/python:3.13',
    resources: { cpu: '0.5', mem: '256m' },
    startupCommand: 'echo begun by $USER',
  })) as { session: { id: SessionId } }
  const session = launched.session.id
  await call('wait_for_session', { session })
  const code = 'import sys; print(sys.stdin.read()); print("bad", file=sys.stderr); sys.exit(3)'
  expect(
    await call('run_command', { session, command: ['python3', '-c', code], stdin: 'given', waitSeconds: 30 }),
  ).toMatchObject({
    status: 'ENDED',
    exitCode: 3,
    untrustedOutput: { stdout: 'given\n', stderr: 'bad\n', truncated: false },
  })
  await expect.poll(() => call('read_logs', { session })).toMatchObject({ untrustedOutput: { log: 'begun by work\n' } })
  const others = await client.callTool({ name: 'run_command', arguments: { session: id, command: ['id'] } })
  expect(others.isError).toBe(true)
  await call('end_session', { session })
})

test('at its time limit, a command ends with everything that it has started', async () => {
  const escapee = 'setsid sh -c "trap : TERM; sleep 4242" & sleep 4242 & sleep 4242'
  const result = await shell(escapee, { timeoutSeconds: 1 })
  expect(result).toMatchObject({ status: 'ENDED', reason: 'time_limit', exitCode: null })
  expect((await shell('pgrep -f "sleep 424[2]"')).stdout).toBe('')
})

test('what a command leaves in the background lives on, and nothing of ours does', async () => {
  expect(await shell('sleep 4343 & echo begun')).toMatchObject({ exitCode: 0, stdout: 'begun\n' })
  expect((await shell('pgrep -f "sleep 434[3]" | wc -l')).stdout).toBe('1\n')
  // Each command has a lifeline, and this one has its own.
  const helpers = async () => (await shell('pgrep -f "berth-command-en[d]" | wc -l')).stdout
  await vi.waitFor(async () => expect(await helpers()).toBe('1\n'), { timeout: 120_000 })
  await shell('pkill -f "sleep 434[3]"')
})

test('output beyond a megabyte is cut at its beginning, and can be read from an offset while the command runs', async () => {
  const long = await shell('yes 0123456 | head -c 3000000; echo end')
  expect(long.truncated).toBe(true)
  expect(long.stdout).toHaveLength(2 ** 20)
  expect(long.stdout?.endsWith('end\n')).toBe(true)
  expect(long.stdoutBytes).toBe(3_000_004)

  const slow = await shell('printf 한; sleep 0.1; echo two; read -r line', { waitSeconds: 0, stdin: '' })
  let text = ''
  let offset = 0
  for (;;) {
    const part = await owner.api.readCommandOutput({ ...at(slow), query: { offset, waitSeconds: 20 } })
    text += part.text
    offset = part.next
    if (part.ended) break
  }
  expect(text).toBe('한two\n')
})

test('a command that runs is listed, and killed by request', async () => {
  const running = await shell('sleep 4444', { waitSeconds: 0 })
  expect(running).toMatchObject({ status: 'RUNNING', exitCode: null })
  const { items } = await owner.api.listCommands({ params: { id } })
  expect(items[0]).toMatchObject({ id: running.id, command: 'sleep 4444', status: 'RUNNING' })
  expect(await owner.api.endCommand(at(running))).toMatchObject({ status: 'ENDED', reason: 'killed' })
  expect((await shell('pgrep -f "sleep 444[4]"')).stdout).toBe('')
})

test('others see nothing; who may view reads no command; who may use loses its commands with the right', async () => {
  const own = await shell('echo mine')
  expect(await codeOf(run({ command: 'id' }, other.api))).toBe('session_not_found')
  expect(await codeOf(other.api.getCommand(at(own)))).toBe('session_not_found')
  const admin = await berth.api()
  expect(await codeOf(run({ command: 'id' }, admin))).toBe('forbidden')

  const share = (permission: 'view' | 'use') =>
    owner.api.shareSession({ params: { id }, body: { email: other.email, permission } })
  const shared = await share('view')
  expect(await codeOf(run({ command: 'id' }, other.api))).toBe('forbidden')
  expect(await codeOf(other.api.listCommands({ params: { id } }))).toBe('forbidden')
  await share('use')
  const theirs = await run({ command: 'sleep 4545', waitSeconds: 0 }, other.api)
  await other.cli('session', 'ls')
  const attached = command(['exec', id, '--', 'sh', '-c', 'echo ready; sleep 4545'], other)
  const attachedOutcome = outcome(attached)
  await once(attached.stdout, 'data')
  await owner.api.unshareSession({ params: { id, userId: shared.userId } })
  await vi.waitFor(async () => expect(await owner.api.getCommand(at(theirs))).toMatchObject({ reason: 'killed' }), {
    timeout: 120_000,
    interval: 200,
  })
  // The connection is cut, and the command is killed: whichever comes first.
  expect([137, 255]).toContain((await attachedOutcome).code)
  await vi.waitFor(async () => expect((await shell('pgrep -f "sleep 454[5]"')).stdout).toBe(''), { timeout: 120_000 })
  expect(await codeOf(other.api.getCommand(at(own)))).toBe('session_not_found')

  const { items } = await admin.listAuditLog({ query: { action: 'runCommand', limit: 100 } })
  expect(items.find(({ detail }) => detail.command === 'sleep 4545')).toMatchObject({
    actor: other.email,
    target: `session:${id}`,
    result: 'ok',
  })
})

/** `berth exec` as a user runs it. */
const exec = (...args: string[]) => command(['exec', 'work', ...args])
function command(args: readonly string[], { email }: BerthUser = owner, cwd = berth.data) {
  const env = { ...process.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', email) }
  return spawn(join(root, 'bin/berth'), args, { env, cwd })
}
async function outcome(child: ReturnType<typeof command>) {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  const [code] = (await once(child, 'close')) as [number]
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

test('berth exec exits with the exit code of the command, and keeps the streams apart', async () => {
  const input = exec('-i', '--cwd', '/tmp', '--env', 'A=b', '--', 'sh', '-c', 'cat; echo $PWD $A')
  input.stdin.end('text\n')
  const ends = [
    exec('--', 'sh', '-c', 'echo out; echo err >&2; exit 5'),
    exec('--', 'sh', '-c', 'kill -9 $$'),
    exec('--timeout', '1s', '--', 'sleep', '99'),
    input,
  ]
  const [both, killed, late, piped] = await Promise.all(ends.map(outcome))
  expect(both).toEqual({ code: 5, out: 'out\n', err: 'err\n' })
  expect(killed?.code).toBe(137)
  expect(late?.code).toBe(124)
  expect(piped).toMatchObject({ code: 0, out: 'text\n/tmp b\n' })
})

test('berth exec passes signals on, and kills the command when it is killed itself', async () => {
  const trapped = exec('--', 'sh', '-c', 'trap "echo got; exit 3" INT; echo ready; while :; do sleep 0.05; done')
  await once(trapped.stdout, 'data')
  trapped.kill('SIGINT')
  expect(await outcome(trapped)).toMatchObject({ code: 3, out: 'got\n' })

  const lost = exec('--', 'sh', '-c', 'echo ready; sleep 4747')
  await once(lost.stdout, 'data')
  lost.kill('SIGKILL')
  await vi.waitFor(async () => expect((await shell('pgrep -f "sleep 474[7]"')).stdout).toBe(''), { timeout: 120_000 })
})

test('much goes through pipes in both directions unchanged', async () => {
  const size = 32 * 2 ** 20
  const echo = exec('-i', '--', 'cat')
  const sent = createHash('sha256')
  const received = createHash('sha256')
  const source = createReadStream('/dev/urandom', { end: size - 1 })
  source.on('data', chunk => sent.update(chunk))
  await Promise.all([pipeline(source, echo.stdin), pipeline(echo.stdout, received), once(echo, 'close')])
  expect(echo.exitCode).toBe(0)
  expect(received.digest('hex')).toBe(sent.digest('hex'))
})

test('berth run survives a killed manager, fetches files, ends its session, and exits with the exit code', async () => {
  const directory = await mkdtemp(join(berth.data, 'fetched-'))
  const script =
    'mkdir out; echo 42 > out/x; ln -s x out/link; echo begun; until [ -e ~/go ]; do sleep 0.1; done; echo done; exit 6'
  const launch = ['--image', 'berth/python:3.13', '--name', 'of-run', '--cpu', '0.5', '--mem', '256m']
  const child = command(['run', ...launch, '--out', 'out', '--', 'sh', '-c', script], owner, directory)
  const result = outcome(child)
  await once(child.stdout, 'data')
  const { items } = await owner.api.listSessions({ query: { name: 'of-run' } })
  const params = { id: items[0]!.id }
  process.kill((await berth.servers()).manager, 'SIGKILL')
  await vi.waitFor(() => owner.api.runCommand({ params, body: { command: 'touch ~/go', waitSeconds: 30 } }), {
    timeout: 120_000,
    interval: 200,
  })
  const { code, out, err } = await result
  expect({ code, out }).toEqual({ code: 6, out: 'begun\ndone\n' })
  expect(err).toContain('left out of out: 1 link or special file.')
  expect(await readFile(join(directory, 'out/x'), 'utf8')).toBe('42\n')
  expect((await owner.api.getSession({ params })).status).toMatch(/^TERMINAT/)
})

test('after Ctrl-C in a terminal, berth run asks whether the session ends or goes on', async () => {
  for (const [answer, status, told] of [
    ['n', 'RUNNING', 'goes on'],
    ['y', 'TERMINATED', 'End session'],
  ] as const) {
    const name = `asked-${answer}-of-run`
    const launch = `--image berth/python:3.13 --name ${name} --cpu 0.25 --mem 128m`
    const line = `${join(root, 'bin/berth')} run ${launch} -- sh -c 'echo begun; sleep 600'`
    const env = { ...process.env, BERTH_CONFIG_DIR: join(berth.data, 'cli', owner.email) }
    const child = spawn('script', ['-qefc', line, '/dev/null'], { env })
    let screen = ''
    child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()))
    const closed = once(child, 'close')
    await vi.waitFor(() => expect(screen).toContain('begun'), { timeout: 60_000 })
    child.stdin.write('\x03')
    await vi.waitFor(() => expect(screen).toContain(`End session ${name}?`), { timeout: 60_000 })
    child.stdin.write(`${answer}\n`)
    await closed
    expect(screen).toContain(told)
    const ofName = async () => (await owner.api.listSessions({ query: { name } })).items[0]
    await expect.poll(async () => (await ofName())?.status).toBe(status)
    const session = await ofName()
    if (session?.status === 'RUNNING') await owner.api.deleteSession({ params: { id: session.id } })
  }
})

test('an agent that is killed takes its commands with it, and nothing else of the session', async () => {
  expect((await shell('(setsid sleep 4848 &)')).exitCode).toBe(0)
  const running = await shell('echo ready; sleep 4949', { waitSeconds: 0 })
  expect((await owner.api.readCommandOutput({ ...at(running), query: { waitSeconds: 50 } })).text).toBe('ready\n')
  process.kill((await berth.servers()).agent, 'SIGKILL')
  await vi.waitFor(async () => expect(await codeOf(owner.api.getCommand(at(running)))).toBe('command_not_found'), {
    timeout: 120_000,
    interval: 200,
  })
  await vi.waitFor(async () => expect((await shell('pgrep -f "sleep 494[9]"')).stdout).toBe(''), { timeout: 120_000 })
  expect((await shell('pgrep -f "sleep 484[8]" | wc -l')).stdout).toBe('1\n')
})
