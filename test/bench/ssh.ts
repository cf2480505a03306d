import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sshSettings, writeSshFiles } from '../../cli/ssh/access.ts'
import { startBenchSession } from './session.ts'
import { median, round } from './statistics.ts'

const run = promisify(execFile)
const ROUNDS = 15
const SSHD_PORT = 2222

/**
 * `ssh HOST true`, from the start of OpenSSH to its end: by the Host block of `berth ssh-config`, by the port of an open
 * tunnel, and to the sshd of the container directly, in turn.
 */
export async function benchSsh(stack: AsyncDisposableStack) {
  const { api, berth, session, openTunnel, address } = await startBenchSession(stack)
  const directory = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const config = join(directory, 'config')
  await writeFile(config, (await berth.cli('ssh-config', session.name)).stdout)
  const settings = sshSettings(await writeSshFiles(api, session, directory))
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
  const over = taken.hostBlock.map((ms, i) => ms - (taken.direct[i] ?? Number.NaN))
  return {
    ssh: {
      hostBlockMs: round(median(taken.hostBlock), 0),
      portMs: round(median(taken.port), 0),
      directMs: round(median(taken.direct), 0),
      hostBlockOverDirectMs: round(median(over), 0),
      rounds: ROUNDS,
    },
  }
}
