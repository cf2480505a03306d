import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sshSettings, writeSshFiles } from '../../cli/ssh/access.ts'
import { startHaproxies } from './haproxies.ts'
import { startBenchSession } from './session.ts'
import { median, round } from './statistics.ts'

const run = promisify(execFile)
const ROUNDS = 15
const SSHD_PORT = 2222
const STREAM_BYTES = Number(process.env.BERTH_BENCH_SSH_MIB ?? 1024) * 2 ** 20

/**
 * `ssh HOST true`, from the start of OpenSSH to its end: by the Host block of `berth ssh-config`, by the port of an open
 * tunnel, and to the sshd of the container directly, in turn. Then 1 GiB of zeros to a program in the session and from one: by the
 * tunnel, directly, and through one HAProxy, which shows what any program in this place costs.
 */
export async function benchSsh(stack: AsyncDisposableStack) {
  const { api, berth, session, openTunnel, address } = await startBenchSession(stack)
  const directory = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const config = join(directory, 'config')
  await writeFile(config, (await berth.cli('ssh-config', session.name)).stdout)
  const settings = sshSettings(await writeSshFiles({ api, endpoint: berth.url }, session, directory))
  const options = ['-F', 'none', ...settings.flatMap(([name, value]) => ['-o', `${name}=${value}`])]
  const { port } = await openTunnel('sshd')
  const ways = {
    hostBlock: ['-F', config, `berth-${session.name}`],
    port: [...options, '-p', String(port), '127.0.0.1'],
    direct: [...options, '-p', String(SSHD_PORT), address],
  }
  const taken: Record<keyof typeof ways, number[]> = { hostBlock: [], port: [], direct: [] }
  for (let i = 0; i <= ROUNDS; i++) {
    for (const way of ['direct', 'hostBlock', 'port'] as const) {
      const start = performance.now()
      await run('ssh', [...ways[way], 'true'])
      if (i > 0) taken[way].push(performance.now() - start)
    }
  }
  const haproxy = await startHaproxies(stack, { host: address, port: SSHD_PORT }, 1)
  const zeros = join(directory, 'zeros')
  await writeFile(zeros, '')
  await truncate(zeros, STREAM_BYTES)
  const streams = {
    port: ways.port,
    direct: ways.direct,
    ...(haproxy ? { oneHaproxy: [...options, '-p', String(haproxy.port), '127.0.0.1'] } : {}),
  }
  const up: Record<string, number[]> = {}
  const down: Record<string, number[]> = {}
  for (const order of [Object.entries(streams), Object.entries(streams).toReversed()]) {
    for (const [way, args] of order) {
      ;(up[way] ??= []).push(await timeStream([...args, 'cat > /dev/null'], zeros))
      ;(down[way] ??= []).push(await timeStream([...args, `head -c ${STREAM_BYTES} /dev/zero`]))
    }
  }
  const ratio = (of: Record<string, number[]>, way: string) => {
    const own = of[way]
    return own ? round(sum(of['direct'] ?? []) / sum(own)) : null
  }
  const over = taken.hostBlock.map((ms, i) => ms - (taken.direct[i] ?? Number.NaN))
  return {
    ssh: {
      hostBlockMs: round(median(taken.hostBlock), 0),
      portMs: round(median(taken.port), 0),
      directMs: round(median(taken.direct), 0),
      hostBlockOverDirectMs: round(median(over), 0),
      rounds: ROUNDS,
      stream: {
        upRatio: ratio(up, 'port'),
        downRatio: ratio(down, 'port'),
        oneHaproxy: { upRatio: ratio(up, 'oneHaproxy'), downRatio: ratio(down, 'oneHaproxy') },
        directMBps: { up: rate(up['direct']), down: rate(down['direct']) },
        mebibytes: STREAM_BYTES / 2 ** 20,
      },
    },
  }
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
/** Megabytes per second. */
const rate = (ms: readonly number[] = []) => round((ms.length * STREAM_BYTES) / 1_000 / sum(ms), 1)

/** @param input file that is sent @returns duration in ms */
async function timeStream(args: readonly string[], input?: string): Promise<number> {
  await using file = input === undefined ? null : await open(input)
  const start = performance.now()
  const ssh = spawn('ssh', args, { stdio: [file ? file.fd : 'ignore', 'ignore', 'inherit'] })
  const [code] = (await once(ssh, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`ssh ended with ${code}`)
  return performance.now() - start
}
