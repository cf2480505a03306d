import { execFile, spawn } from 'node:child_process'
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { startProxy } from '#proxy'
import { listenOnLoopback } from '../../proxy/listeners/loopback-listener.ts'
import { silentLog } from '../../proxy/log.ts'
import { createSshServer, FAST_CIPHER } from '../../proxy/sftp/ssh-server.ts'
import { sha256 } from '../fixtures/sha256.ts'
import { apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { startManagerProcess } from './files.ts'
import { median, round } from './statistics.ts'

const run = promisify(execFile)
const MIB = 2 ** 20
const SIZE_MIB = Number(process.env.BERTH_BENCH_FILES_MIB ?? 64)
const SMALL_FILES = Number(process.env.BERTH_BENCH_SFTP_SMALL ?? 500)
const ROUNDS = 3
const PASSWORD = 'Correct-horse-1'
const SSHD = '/usr/sbin/sshd'
const SFTP_SERVER = '/usr/lib/openssh/sftp-server'

/** Speeds of one server. */
interface Speeds {
  readonly up: number[]
  readonly down: number[]
  /** Files per second: of 4 KiB, by `put -r` and `get -r`, and one after the other with a change of the mode, as FileZilla does it. */
  readonly smallUp: number[]
  readonly smallDown: number[]
  readonly smallInTurn: number[]
  /** Requests of 4 KiB per second with one in flight: the client waits for each answer. */
  readonly waitUp: number[]
  readonly waitDown: number[]
}

/** Same as in PuTTY. */
const REQUEST_BYTES = 4_096
const SERIAL_MIB = Number(process.env.BERTH_BENCH_SFTP_SERIAL_MIB ?? 2)
const WAITING = ['-B', String(REQUEST_BYTES), '-R', '1']

/**
 * Moves one large file, many small ones, and one by small requests that wait for each other, into a folder and back by OpenSSH's `sftp`, through the SFTP port, next to an `sshd` of this
 * computer that writes to the same disk, and next to OpenSSH's `sftp-server` on the same way, behind the SSH server of the proxy. Needs OpenSSH's server. Two to five minutes.
 */
export async function benchFolderSftp(stack: AsyncDisposableStack) {
  const dataDir = stack.use(await temporaryDirectory()).path
  const { url, cpuSeconds } = await startManagerProcess(stack, dataDir)
  const login = { email: 'admin@localhost', password: PASSWORD, kind: 'token' } as const
  const { token, user } = await apiOf(url).login({ body: login })
  const { id } = await apiOf(url, token ?? '').createFolder({ body: { name: 'bench' } })
  const proxy = stack.use(
    await startProxy({
      managerUrl: url,
      credentials: () => Promise.resolve({ authorization: `Bearer ${token ?? ''}` }),
      dataDir,
      userId: user.id,
      sshDirectory: join(dataDir, 'ssh'),
    }),
  )
  const kit = await proxy.sftp.open({})
  const beside = join(dataDir, 'storage/folders', id, '..', 'beside')
  await mkdir(beside, { mode: 0o777 })
  const sshd = await startSshd(stack, dataDir)
  const ours = { arguments: ['-F', kit.configFile, kit.hostAlias], place: '/bench' }
  const theirs = { arguments: [...sshd, '127.0.0.1'], place: beside }
  const sameWay = {
    arguments: [
      '-o',
      `Port=${await startSameWay(stack, dataDir)}`,
      '-o',
      `Ciphers=${FAST_CIPHER}`,
      ...theirs.arguments,
    ],
    place: beside,
  }

  const original = join(dataDir, 'original')
  await run('sh', ['-c', `head -c ${SIZE_MIB * MIB} /dev/urandom > ${original}`])
  const serial = join(dataDir, 'serial')
  await run('sh', ['-c', `head -c ${SERIAL_MIB * MIB} /dev/urandom > ${serial}`])
  const small = join(dataDir, 'small')
  await mkdir(small)
  await run('sh', ['-c', `for i in $(seq ${SMALL_FILES}); do head -c 4096 /dev/urandom > $i; done`], { cwd: small })
  const hash = await sha256(original)

  async function measure(server: typeof ours, speeds: Speeds): Promise<void> {
    const back = join(dataDir, 'back')
    const { place } = server
    speeds.up.push((SIZE_MIB * MIB) / 1e6 / (await seconds(server.arguments, [`put ${original} ${place}/large`])))
    speeds.down.push((SIZE_MIB * MIB) / 1e6 / (await seconds(server.arguments, [`get ${place}/large ${back}`])))
    if ((await sha256(back)) !== hash) throw new Error('the file came back changed')
    await rm(back)
    const requests = (SERIAL_MIB * MIB) / REQUEST_BYTES
    const waiting = [...WAITING, ...server.arguments]
    speeds.waitUp.push(requests / (await seconds(waiting, [`put ${serial} ${place}/serial`])))
    speeds.waitDown.push(requests / (await seconds(waiting, [`get ${place}/serial ${back}`])))
    await rm(back)
    await measureSmall(server, speeds)
  }
  let turns = 0
  async function measureSmall({ arguments: args, place }: typeof ours, speeds: Speeds): Promise<void> {
    const [at, back] = [`${place}/turn-${++turns}`, join(dataDir, 'small-back')]
    await seconds(args, [`mkdir ${at}`, `mkdir ${at}/in-turn`])
    speeds.smallUp.push(SMALL_FILES / (await seconds(args, [`put -r ${small} ${at}/`])))
    speeds.smallDown.push(SMALL_FILES / (await seconds(args, [`get -r ${at}/small ${back}`])))
    await rm(back, { recursive: true })
    const names = Array.from({ length: SMALL_FILES }, (_, index) => String(index + 1))
    const lines = names.flatMap(name => [
      `put ${small}/${name} ${at}/in-turn/${name}`,
      `chmod 644 ${at}/in-turn/${name}`,
    ])
    speeds.smallInTurn.push(SMALL_FILES / (await seconds(['-R', '1', ...args], lines)))
  }
  const seconds = async (args: readonly string[], lines: readonly string[]) => {
    const batch = join(dataDir, 'batch')
    await writeFile(batch, lines.join('\n'))
    const start = performance.now()
    await run('sftp', ['-b', batch, ...args])
    return (performance.now() - start) / 1000
  }

  const none = (): Speeds => ({
    up: [],
    down: [],
    smallUp: [],
    smallDown: [],
    smallInTurn: [],
    waitUp: [],
    waitDown: [],
  })
  const [here, there, between] = [none(), none(), none()]
  const cpuBefore = await cpuSeconds()
  for (let turn = 0; turn < ROUNDS; turn++) {
    const servers = [() => measureSmall(sameWay, between), () => measure(ours, here), () => measure(theirs, there)]
    for (const take of turn % 2 === 0 ? servers : servers.toReversed()) await take()
  }
  /** The median of the ratios of neighbouring rounds. */
  const ratio = (key: keyof Speeds, yardstick = there) =>
    round(median(here[key].map((speed, turn) => speed / (yardstick[key][turn] ?? NaN))), 2)
  const both = (key: keyof Speeds) => ({ ours: round(median(here[key]), 1), sshd: round(median(there[key]), 1) })
  const perSecond = (key: keyof Speeds) => ({ ...both(key), sameWay: round(median(between[key]), 1) })
  return {
    folderSftp: {
      mebibytes: SIZE_MIB,
      upRatio: ratio('up'),
      downRatio: ratio('down'),
      smallUpRatio: ratio('smallUp'),
      smallDownRatio: ratio('smallDown'),
      smallInTurnRatio: ratio('smallInTurn'),
      sameWay: {
        smallUpRatio: ratio('smallUp', between),
        smallDownRatio: ratio('smallDown', between),
        smallInTurnRatio: ratio('smallInTurn', between),
      },
      waitingUpRatio: ratio('waitUp'),
      waitingDownRatio: ratio('waitDown'),
      upMbPerSecond: both('up'),
      downMbPerSecond: both('down'),
      smallUpPerSecond: perSecond('smallUp'),
      smallDownPerSecond: perSecond('smallDown'),
      smallInTurnPerSecond: perSecond('smallInTurn'),
      waitingUpPerSecond: both('waitUp'),
      waitingDownPerSecond: both('waitDown'),
      managerCpuSecondsPerRound: round(((await cpuSeconds()) - cpuBefore) / ROUNDS, 2),
    },
  }
}

/** The SSH server of the proxy with OpenSSH's `sftp-server` instead of the manager. @returns its port */
async function startSameWay(stack: AsyncDisposableStack, dataDir: string): Promise<number> {
  const key = (name: string) => readFile(join(dataDir, 'sshd', name), 'utf8')
  const clientKey = await key('key.pub')
  const server = await createSshServer({
    hostKey: await key('host'),
    allowedKeys: () => Promise.resolve([clientKey]),
    openSftp: () => {
      const { stdin, stdout } = spawn(SFTP_SERVER, { stdio: ['pipe', 'pipe', 'ignore'] })
      return Promise.resolve(Duplex.from({ readable: stdout, writable: stdin }))
    },
    onChange: () => undefined,
    log: silentLog,
  })
  const listener = await listenOnLoopback({ port: 0, onConnection: socket => server.accept(socket) })
  stack.defer(async () => {
    server.close()
    await listener.close()
  })
  return listener.port
}

/** An `sshd` on loopback with a key of its own. @returns options of `sftp` to reach it */
async function startSshd(stack: AsyncDisposableStack, dataDir: string): Promise<string[]> {
  await access(SSHD)
  const at = join(dataDir, 'sshd')
  await mkdir(at, { mode: 0o700 })
  await mkdir('/run/sshd', { recursive: true })
  const [hostKey, key] = [join(at, 'host'), join(at, 'key')]
  for (const file of [hostKey, key]) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
  const port = 20_000 + (process.pid % 10_000)
  const config = join(at, 'config')
  await writeFile(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${key}.pub`,
      'PermitRootLogin yes',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      'Subsystem sftp internal-sftp',
    ].join('\n'),
  )
  const child = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: 'ignore' })
  stack.defer(() => void child.kill())
  await new Promise(resolve => setTimeout(resolve, 1_000))
  const settings = {
    Port: port,
    IdentityFile: key,
    IdentitiesOnly: 'yes',
    StrictHostKeyChecking: 'no',
    UserKnownHostsFile: '/dev/null',
    LogLevel: 'ERROR',
  }
  return ['-F', 'none', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])]
}
