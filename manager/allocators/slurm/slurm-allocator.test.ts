import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSlurmAllocator } from './slurm-allocator.ts'

const ANSWERS = new URL('answers/', import.meta.url)
const NOBODY = new Set<string>()
const REQUEST = {
  name: 'berth-a-1',
  nodes: 1,
  cpus: 1,
  memBytes: 2 ** 30,
  gpus: 1,
  user: null,
  settings: { partition: 'gpu' },
}

/** Stand-ins for Slurm's client commands: shell scripts with recorded answers. */
let commands: string
beforeEach(async () => {
  commands = await mkdtemp(join(tmpdir(), 'berth-slurm-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  return rm(commands, { recursive: true })
})

async function command(name: string, script: string): Promise<void> {
  await writeFile(join(commands, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(commands, name), 0o755)
}
const squeue = (answer: string, code = 0) => command('squeue', `cat <<'END'\n${answer}\nEND\nexit ${code}`)
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('the answer of squeue is the list', async () => {
  await squeue(await readFile(new URL('24.11/squeue.json', ANSWERS), 'utf8'))
  // The recorded jobs belong to root.
  const allocations = await createSlurmAllocator({ commands }).list('berth-01a2', NOBODY)
  expect(allocations.length).toBe(process.getuid?.() === 0 ? 2 : 0)
})

test("only jobs of this user are asked for: other users' may be thousands", async () => {
  await command('squeue', `[ "$*" = "--json --states=all --user=${process.getuid?.()}" ] && echo '{"jobs":[]}'`)
  expect(await createSlurmAllocator({ commands }).list('berth-', NOBODY)).toEqual([])
})

test('more users than an argument holds are not named', async () => {
  await command('squeue', 'echo "$*" > "$0.asked"; echo \'{"jobs":[]}\'')
  const asked = () => readFile(join(commands, 'squeue.asked'), 'utf8')
  const allocator = createSlurmAllocator({ commands })
  await allocator.list('berth-', new Set(['ada']))
  expect(await asked()).toContain(`--user=${process.getuid?.()},ada`)
  const users = new Set(Array.from({ length: 20_000 }, (_, index) => `user-${index}`))
  expect(await allocator.list('berth-', users)).toEqual([])
  expect(await asked()).not.toContain('--user')
})

test.each([
  ['fails', () => squeue('{"jobs":[],"errors":[]}', 1)],
  [
    'answers without its controller',
    async () => squeue(await readFile(new URL('22.05/squeue-controller-away.json', ANSWERS), 'utf8')),
  ],
  ['does not answer', () => command('squeue', 'exec sleep 60')],
  ['is not installed', () => Promise.resolve()],
])('squeue that %s is an error, not an empty list', async (_, install) => {
  await install()
  await expect(createSlurmAllocator({ commands, timeoutMs: 300 }).list('berth-', NOBODY)).rejects.toThrow()
})

test('a ping that fails, hangs or cannot be sent says that the controller is away', async () => {
  const allocator = createSlurmAllocator({ commands, pingTimeoutMs: 300 })
  expect(await allocator.ping()).toBe(false)
  await command('scontrol', 'exit 1')
  expect(await allocator.ping()).toBe(false)
  await command('scontrol', 'exec sleep 60')
  expect(await allocator.ping()).toBe(false)
  await command('scontrol', '[ "$1" = ping ]')
  expect(await allocator.ping()).toBe(true)
})

test('variables of the environment do not change requests, and secrets of the manager are not passed on', async () => {
  vi.stubEnv('SALLOC_PARTITION', 'other')
  vi.stubEnv('BERTH_DATABASE_URL', 'postgres://berth:secret@db')
  await command('salloc', 'echo "salloc: error: <$SALLOC_PARTITION$BERTH_DATABASE_URL> $*" >&2; exit 1')
  const words = await new Promise<string>(done => createSlurmAllocator({ commands }).allocate(REQUEST, done))
  expect(words).toMatch(/^<> --no-shell --job-name=berth-a-1 .*--gres=gpu:1 --partition=gpu$/)
})

test('a person as whom salloc runs does not learn how the manager proves who it is', async () => {
  const words = (user: string | null) =>
    new Promise<string>(done => createSlurmAllocator({ commands }).allocate({ ...REQUEST, user }, done))
  await command('salloc', 'echo "<$SLURM_JWT>" >&2; exit 1')
  for (const name of ['runuser', 'sudo']) await command(name, 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
  vi.stubEnv('SLURM_JWT', 'secret')
  vi.stubEnv('PATH', `${commands}:${process.env['PATH'] ?? ''}`)
  expect(await words(null)).toBe('<secret>')
  expect(await words('ada')).toBe('<>')
})

test("a refusal is told in Slurm's own words", async () => {
  await command('salloc', 'printf "salloc: error: Job submit/allocate failed: \\033[1mInvalid account\\n" >&2; exit 1')
  const words = await new Promise<string>(done => createSlurmAllocator({ commands }).allocate(REQUEST, done))
  expect(words).toBe('Job submit/allocate failed: [1mInvalid account')
})

test('a missing salloc is told too', async () => {
  const words = await new Promise<string>(done => createSlurmAllocator({ commands }).allocate(REQUEST, done))
  expect(words).toMatch(/ENOENT/)
})

test('a waiting request is in a process session of its own, and outlives the end of the manager', async () => {
  const closing = new AbortController()
  await command('salloc', 'echo $$ > "$0.pid"; exec sleep 60')
  createSlurmAllocator({ commands, signal: closing.signal }).allocate(REQUEST, () => undefined)
  const pid = await vi.waitFor(async () => {
    const text = await readFile(join(commands, 'salloc.pid'), 'utf8')
    if (text === '') throw new Error('not written')
    return Number(text)
  })
  closing.abort()
  // Field 6 of /proc/PID/stat, counted from behind the name of the program.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  expect(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3])).toBe(pid)
  expect(isAlive(pid)).toBe(true)
  process.kill(pid, 'SIGKILL')
})

test('the end of the manager ends its other calls', async () => {
  const closing = new AbortController()
  await command('squeue', 'exec sleep 60')
  const list = createSlurmAllocator({ commands, signal: closing.signal }).list('berth-', NOBODY)
  closing.abort()
  await expect(list).rejects.toThrow(/abort/i)
})

test('the names of nodes are those of Slurm; an answer without any is an error', async () => {
  await command('scontrol', 'printf "NodeName=g1 Arch=x86_64 Comment=NodeName=no\\nNodeName=g2.lab CPUAlloc=0\\n"')
  expect(await createSlurmAllocator({ commands }).nodes()).toMatchObject([{ name: 'g1' }, { name: 'g2.lab' }])
  await command('scontrol', 'echo "No nodes in the system"')
  await expect(createSlurmAllocator({ commands }).nodes()).rejects.toThrow()
})

test('the history tells how a job ended; where there is none, it is not asked for each session', async () => {
  const job = { name: 'berth-a-1', user: null, identity: { id: '7', submittedAt: 1, startedAt: 2, restarts: 0 } }
  await command('sacct', `echo "$*" >> ${commands}/history; echo "7|${process.getuid?.()}|root|TIMEOUT|berth-a-1"`)
  expect(await createSlurmAllocator({ commands }).endOf(job)).toBe('timeout')
  expect(await readFile(join(commands, 'history'), 'utf8')).toContain(' --jobs=7 ')
  await command('sacct', `echo >> ${commands}/failures; echo "Slurm accounting storage is disabled" >&2; exit 1`)
  const allocator = createSlurmAllocator({ commands })
  for (let time = 0; time < 3; time++) expect(await allocator.endOf(job)).toBeUndefined()
  expect(await readFile(join(commands, 'failures'), 'utf8')).toBe('\n')
})
