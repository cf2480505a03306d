import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../fixtures/free-port.ts'
import { apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { PASSWORD, startManagerProcess } from './files.ts'
import { median, round } from './statistics.ts'

const run = promisify(execFile)
const MIB = 2 ** 20
const FILES = Number(process.env.BERTH_BENCH_FOLDER_FILES ?? 10_000)
const SIZE_MIB = Number(process.env.BERTH_BENCH_FOLDER_MIB ?? 1024)
const ROUNDS = Number(process.env.BERTH_BENCH_FOLDER_ROUNDS ?? 3)
const PER_DIRECTORY = 100
/** Ordinary users mostly have no `sbin` in their path; sshd must be started by its absolute path. */
const SSHD_PLACES = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin']

/** Seconds of each round. */
interface Timed {
  readonly up: number[]
  readonly down: number[]
}
const timed = (): Timed => ({ up: [], down: [] })

/**
 * `berth folder upload` and `download` of 10,000 small files and of one large one, through a manager of its own process, next to `scp` and
 * `rsync` through an sshd on the same computer, to the same disk. A round of each in turn; contents are compared. A
 * yardstick whose program is missing is left out, with a message.
 */
export async function benchFolders(stack: AsyncDisposableStack) {
  const top = stack.use(await temporaryDirectory()).path
  const berth = await startBerth(stack, top)
  const ssh = await startSshd(stack, top)
  const rsync = ssh && (await has('rsync')) ? ssh : undefined
  if (!ssh) console.error(`folders: LEFT OUT: scp and rsync, because no sshd is installed (openssh-server)`)
  else if (!rsync) console.error('folders: LEFT OUT: rsync, because it is not installed')

  const tree = join(top, 'tree')
  await makeTree(tree)
  const small = { ours: timed(), scp: timed(), rsync: timed() }
  const large = { ours: timed(), scp: timed(), rsync: timed() }
  const cpuBefore = await berth.cpuSeconds()
  for (let n = 0; n < ROUNDS; n++) {
    await berth.roundTrip(tree, small.ours)
    if (rsync) await rsync.rsync(tree, small.rsync, true)
    if (ssh) await ssh.scp(tree, small.scp)
  }
  const smallCpu = ((await berth.cpuSeconds()) - cpuBefore) / ROUNDS
  await rm(tree, { recursive: true })

  const file = join(top, 'large')
  await run('sh', ['-c', `head -c ${SIZE_MIB * MIB} /dev/urandom > ${file}`])
  const cpuBetween = await berth.cpuSeconds()
  for (let n = 0; n < ROUNDS; n++) {
    await berth.roundTrip(file, large.ours)
    if (rsync) await rsync.rsync(file, large.rsync, false)
    if (ssh) await ssh.scp(file, large.scp)
  }
  const largeCpu = ((await berth.cpuSeconds()) - cpuBetween) / ROUNDS
  return {
    folders: {
      smallFiles: FILES,
      ...figuresOf('small', small),
      smallManagerCpuSeconds: round(smallCpu, 1),
      largeMib: SIZE_MIB,
      ...figuresOf('large', large),
      largeManagerCpuSeconds: round(largeCpu, 1),
    },
  }
}

/** Seconds, and how many times faster Berth is: 1 means as fast as the yardstick. */
function figuresOf(name: string, { ours, scp, rsync }: Record<'ours' | 'scp' | 'rsync', Timed>) {
  const figures: Record<string, number | null> = {}
  for (const way of ['up', 'down'] as const) {
    const seconds = (of: Timed) => (of[way].length === 0 ? null : round(median(of[way])))
    const ratio = (of: Timed) => {
      const theirs = of[way].map((value, index) => value / (ours[way][index] ?? Number.NaN))
      return theirs.length === 0 ? null : round(median(theirs))
    }
    const key = `${name}${way === 'up' ? 'Up' : 'Down'}`
    figures[`${key}Seconds`] = seconds(ours)
    figures[`${key}ScpSeconds`] = seconds(scp)
    figures[`${key}RsyncSeconds`] = seconds(rsync)
    figures[`${key}RatioScp`] = ratio(scp)
    figures[`${key}RatioRsync`] = ratio(rsync)
  }
  return figures
}

async function makeTree(tree: string): Promise<void> {
  const source = randomBytes(64 * 1024)
  for (let n = 0; n < FILES; n++) {
    const directory = join(tree, String(Math.floor(n / PER_DIRECTORY)))
    if (n % PER_DIRECTORY === 0) await mkdir(directory, { recursive: true })
    const size = 500 + ((n * 7919) % 8_000)
    await writeFile(join(directory, `file-${n}.txt`), source.subarray(n % 50_000, (n % 50_000) + size))
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

async function startBerth(stack: AsyncDisposableStack, top: string) {
  const dataDir = join(top, 'data')
  await mkdir(dataDir)
  const { url, cpuSeconds } = await startManagerProcess(stack, dataDir)
  const { token } = await apiOf(url).login({ body: { email: 'admin@localhost', password: PASSWORD, kind: 'token' } })
  await apiOf(url, token ?? '').createFolder({ body: { name: 'bench' } })
  const environment = { ...process.env, BERTH_CONFIG_DIR: join(top, 'config'), HOME: top }
  const berth = async (args: readonly string[], input?: string) => {
    const child = run(process.execPath, ['bin/berth', ...args], { env: environment, maxBuffer: 64 * MIB })
    child.child.stdin?.end(input ?? '')
    await child
  }
  await berth(['login', '--endpoint', url, '--email', 'admin@localhost', '--password-stdin'], PASSWORD)
  return {
    cpuSeconds,
    async roundTrip(source: string, into: Timed) {
      const back = join(top, 'back')
      into.up.push(await secondsOf(() => berth(['folder', 'upload', 'bench', source, 'in'])))
      into.down.push(await secondsOf(() => berth(['folder', 'download', 'bench', 'in', back])))
      await requireSame(source, back)
      await berth(['folder', 'rm', 'bench', 'in'])
      await rm(back, { recursive: true })
    },
  }
}

async function requireSame(source: string, back: string): Promise<void> {
  await run('diff', ['-r', source, back])
}

const has = (program: string) =>
  run('which', [program]).then(
    () => true,
    () => false,
  )

async function findSshd(): Promise<string | undefined> {
  for (const place of SSHD_PLACES) {
    const path = join(place, 'sshd')
    const isThere = await access(path, constants.X_OK).then(
      () => isAbsolute(path),
      () => false,
    )
    if (isThere) return path
  }
  return undefined
}

/** An SSH server for this benchmark alone, with keys of its own. @returns undefined if there is none */
async function startSshd(stack: AsyncDisposableStack, top: string) {
  const sshd = await findSshd()
  if (sshd === undefined) return undefined
  const home = join(top, 'sshd')
  await mkdir(home)
  for (const key of ['host', 'user']) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, key)])
  const port = await freePort()
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(home, 'host')}`,
    `AuthorizedKeysFile ${join(home, 'user.pub')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    'Subsystem sftp internal-sftp',
  ]
  await writeFile(join(home, 'config'), `${config.join('\n')}\n`)
  await mkdir('/run/sshd', { recursive: true }).catch(() => undefined) // needed only where root runs it
  const server = spawn(sshd, ['-D', '-e', '-f', join(home, 'config')], { stdio: 'ignore' })
  stack.defer(async () => {
    server.kill('SIGTERM')
    if (server.exitCode === null) await once(server, 'exit')
  })
  await listening(port)
  const options = [
    '-i',
    join(home, 'user'),
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    `UserKnownHostsFile=${join(home, 'known')}`,
    '-o',
    'LogLevel=ERROR',
  ]
  const target = join(top, 'ssh-target')
  const back = join(top, 'ssh-back')
  const roundTrip = async (
    source: string,
    into: Timed,
    copy: (from: string, to: string) => Promise<unknown>,
  ): Promise<void> => {
    into.up.push(await secondsOf(() => copy(source, `127.0.0.1:${target}`)))
    into.down.push(await secondsOf(() => copy(`127.0.0.1:${target}`, back)))
    await requireSame(source, back)
    await rm(target, { recursive: true })
    await rm(back, { recursive: true })
  }
  return {
    scp: (source: string, into: Timed) =>
      roundTrip(source, into, (from, to) => run('scp', ['-rq', '-P', String(port), ...options, from, to])),
    rsync: (source: string, into: Timed, isTree: boolean) =>
      roundTrip(source, into, async (from, to) => {
        // A slash at the end: the entries of the directory, into the target.
        const end = isTree ? '/' : ''
        await run('rsync', ['-a', '-e', `ssh -p ${port} ${options.join(' ')}`, from + end, to])
      }),
  }
}

async function listening(port: number): Promise<void> {
  for (let n = 0; n < 100; n++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await delay(50)
  }
  throw new Error('sshd did not start')
}
