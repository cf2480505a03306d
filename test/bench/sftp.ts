import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sshSettings, type SshFiles, writeSshFiles } from '../../cli/ssh/access.ts'
import { sha256 } from '../fixtures/sha256.ts'
import { startHaproxies } from './haproxies.ts'
import { startBenchSession } from './session.ts'
import { round } from './statistics.ts'

const run = promisify(execFile)
const MIB = 2 ** 20
const SIZE_MIB = Number(process.env.BERTH_BENCH_SFTP_MIB ?? 1024)
const SSHD_PORT = 2222
const NONE = { upRatio: null, downRatio: null }

interface Server {
  readonly host: string
  readonly port: number
}

interface Speeds {
  readonly up: number[]
  readonly down: number[]
}

/**
 * A file of 1 GiB up and down with the system's sftp, through the tunnel with the direct path (ADR 41), the same through manager and agent,
 * directly to the container, and through three HAProxies in a row and one, in turn; hashes compared. The HAProxies show how much of the
 * difference every path of as many processes costs.
 */
export async function benchSftp(stack: AsyncDisposableStack) {
  const { api, berth, session, openTunnel, viaManager, address } = await startBenchSession(stack)
  const directory = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const files = await writeSshFiles({ api, endpoint: berth.url }, session, directory)
  const { port } = await openTunnel('sshd')
  const tunnel: Server = { host: '127.0.0.1', port }
  const through: Server = { host: '127.0.0.1', port: (await (await viaManager()).openTunnel('sshd')).port }
  const direct: Server = { host: address, port: SSHD_PORT }
  const threeHaproxies = await startHaproxies(stack, direct)
  const oneHaproxy = await startHaproxies(stack, direct, 1)
  const original = join(directory, 'original')
  await writeRandom(original)
  const hash = await sha256(original)

  async function roundTrip(server: Server): Promise<{ up: number; down: number }> {
    const back = join(directory, 'back')
    const up = await speed(server, `put ${original} bench-file`)
    const down = await speed(server, `get bench-file ${back}`)
    if ((await sha256(back)) !== hash) throw new Error('the file came back changed')
    await rm(back)
    return { up, down }
  }

  async function speed(server: Server, command: string): Promise<number> {
    const start = performance.now()
    await sftp(files, server, command)
    return (SIZE_MIB * MIB) / 1e6 / ((performance.now() - start) / 1000)
  }

  const ours: Speeds = { up: [], down: [] }
  const remote: Speeds = { up: [], down: [] }
  const plain: Speeds = { up: [], down: [] }
  const byThree: Speeds = { up: [], down: [] }
  const byOne: Speeds = { up: [], down: [] }
  const order: (readonly [Server, Speeds])[] = [
    [tunnel, ours],
    [direct, plain],
    [through, remote],
    ...(threeHaproxies ? [[{ host: '127.0.0.1', port: threeHaproxies.port }, byThree] as const] : []),
    ...(oneHaproxy ? [[{ host: '127.0.0.1', port: oneHaproxy.port }, byOne] as const] : []),
  ]
  for (const turn of [order, order.toReversed()]) {
    for (const [server, of] of turn) {
      const { up, down } = await roundTrip(server)
      of.up.push(up)
      of.down.push(down)
    }
  }
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const overDirect = ({ up, down }: Speeds) => ({
    upRatio: round(mean(up) / mean(plain.up)),
    downRatio: round(mean(down) / mean(plain.down)),
  })
  return {
    sftp: {
      ...overDirect(ours),
      upMBps: round(mean(ours.up), 1),
      downMBps: round(mean(ours.down), 1),
      direct: { upMBps: round(mean(plain.up), 1), downMBps: round(mean(plain.down), 1) },
      viaManager: overDirect(remote),
      haproxy: threeHaproxies ? overDirect(byThree) : NONE,
      oneHaproxy: oneHaproxy ? overDirect(byOne) : NONE,
      mebibytes: SIZE_MIB,
      hashesEqual: true,
    },
  }
}

async function sftp(files: SshFiles, { host, port }: Server, command: string): Promise<void> {
  const settings = sshSettings(files).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const client = run('sftp', ['-F', 'none', ...settings, '-P', String(port), '-b', '-', host])
  client.child.stdin?.end(`${command}\n`)
  await client
}

async function writeRandom(path: string): Promise<void> {
  await using file = await open(path, 'wx')
  for (let left = SIZE_MIB; left > 0; left--) await file.write(randomBytes(MIB))
}
