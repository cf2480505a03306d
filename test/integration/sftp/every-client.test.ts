import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testSet } from '../../../build/bootstrap/test-sets.ts'
import { startProxy } from '#proxy'
import { type FolderKit } from '#proxy/contract'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'

/**
 * The programs that people use move files of every size through the port of the folders. Each has its own request size and number of
 * requests in flight: PSCP, for example, reads far beyond the end. `filezilla.test.ts` has FileZilla.
 */

const exec = promisify(execFile)
/** Sizes of one byte, of one request of PuTTY, and of many requests that end within one. */
const SIZES = { one: 1, small: 4096, middle: 1_000_003 } as const
const NAMES = Object.keys(SIZES)
const LARGE_BYTES = 100 * 1024 * 1024

let kit: FolderKit
/** Files of this computer, and those of the folder `data`. */
let local: string
let folder: string
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  const manager = stack.use(await startTestManager())
  local = stack.use(await temporaryDirectory()).path
  const { id: userId, token, api } = await manager.addUser('owner@example.org')
  const { id } = await api.createFolder({ body: { name: 'data' } })
  folder = join(manager.dataDir, 'storage', 'folders', id)
  const proxy = stack.use(
    await startProxy({
      managerUrl: manager.url,
      credentials: () => Promise.resolve({ authorization: `Bearer ${token}` }),
      dataDir: join(local, 'proxy'),
      userId,
      sshDirectory: join(local, 'ssh'),
    }),
  )
  kit = await proxy.sftp.open({})
  for (const place of [join(local, 'up'), join(folder, 'down')]) {
    await mkdir(join(place, 'tree/deep'), { recursive: true })
    for (const [name, size] of Object.entries(SIZES)) await writeFile(join(place, name), randomBytes(size))
    for (let i = 0; i < 12; i++)
      await writeFile(join(place, 'tree', i % 2 ? 'deep' : '.', `${i}`), randomBytes(i * 7000))
  }
  await exec('sh', ['-c', `head -c ${LARGE_BYTES} /dev/urandom > ${folder}/large`])
})
afterAll(() => stack.disposeAsync())

const run = (program: string, args: readonly string[]) =>
  exec(program, args, { env: { ...process.env, HOME: local, RCLONE_CONFIG: join(local, 'rclone.conf') } })

async function batch(lines: readonly string[]): Promise<string> {
  const file = join(local, `batch-${randomBytes(4).toString('hex')}`)
  await writeFile(file, lines.join('\n'))
  return file
}

/** Functions of a program; their arguments are names below the folder, and paths on this computer. */
interface Client {
  /** Fetches a file. */
  get(name: string, to: string): Promise<unknown>
  put(from: string, name: string): Promise<unknown>
  /** Fetches a directory with its contents to a directory of the same name in `to`. Left out if the program cannot. */
  getTree?(name: string, to: string): Promise<unknown>
  putTree?(from: string, to: string): Promise<unknown>
}

const openSsh = () => ['-F', kit.configFile, '-o', 'BatchMode=yes']
const sftp = async (...lines: string[]) => run('sftp', [...openSsh(), '-b', await batch(lines), kit.hostAlias])
const scp = (...args: string[]) => run('scp', [...openSsh(), ...args])
const putty = () => ['-batch', ...kit.commands.psftp.split(' ').slice(1, -1)]
const pscp = (...args: string[]) => run('pscp', ['-q', ...putty(), ...args])
const psftp = async (...lines: string[]) =>
  run('psftp', [...putty(), '-b', await batch(['cd data', ...lines, 'quit']), `${kit.user}@127.0.0.1`])
const lftp = (command: string) => {
  const program = `set sftp:connect-program "ssh -a -x -F ${kit.configFile}"`
  return run('lftp', [
    '-c',
    `set cmd:fail-exit yes; set xfer:clobber yes; ${program}; open sftp://${kit.hostAlias}; ${command}`,
  ])
}
const rclone = (...args: string[]) => run('rclone', args)
const curl = (path: string, ...args: string[]) => {
  const at = `sftp://127.0.0.1:${kit.port.port}/data/${path}`
  const [key, hostKey] = [kit.identityFile, kit.hostKeyFingerprint.replace('SHA256:', '')]
  return run('curl', ['-sSf', '-u', `${kit.user}:`, '--key', key, '--hostpubsha256', hostKey, ...args, at])
}
const at = (name: string) => `${kit.hostAlias}:data/${name}`
const puttyAt = (name: string) => `${kit.user}@127.0.0.1:data/${name}`
const mount = () => join(local, 'mount')

const CLIENTS: Readonly<Record<string, Client>> = {
  sftp: {
    get: (name, to) => sftp(`get data/${name} ${to}`),
    put: (from, name) => sftp(`put ${from} data/${name}`),
    getTree: (name, to) => sftp(`get -r data/${name} ${to}`),
    putTree: (from, to) => sftp(`put -r ${from} data/${to}`),
  },
  scp: {
    get: (name, to) => scp(at(name), to),
    put: (from, name) => scp(from, at(name)),
    getTree: (name, to) => scp('-r', at(name), to),
    putTree: (from, to) => scp('-r', from, at(to)),
  },
  pscp: {
    get: (name, to) => pscp(puttyAt(name), to),
    put: (from, name) => pscp(from, puttyAt(name)),
    getTree: (name, to) => pscp('-r', puttyAt(name), to),
    putTree: (from, to) => pscp('-r', from, puttyAt(to)),
  },
  psftp: {
    get: (name, to) => psftp(`get ${name} ${to}`),
    put: (from, name) => psftp(`put ${from} ${name}`),
    getTree: (name, to) => psftp(`get -r ${name} ${to}/tree`),
    putTree: (from, to) => psftp(`put -r ${from} ${to}/tree`),
  },
  lftp: {
    get: (name, to) => lftp(`get data/${name} -o ${to}`),
    put: (from, name) => lftp(`put ${from} -o data/${name}`),
    getTree: (name, to) => lftp(`mirror -P4 data/${name} ${to}/tree`),
    putTree: (from, to) => lftp(`mirror -R -P4 ${from} data/${to}/tree`),
  },
  rclone: {
    get: (name, to) => rclone('copyto', `berth:data/${name}`, to),
    put: (from, name) => rclone('copyto', from, `berth:data/${name}`),
    getTree: (name, to) => rclone('copy', `berth:data/${name}`, join(to, 'tree')),
    putTree: (from, to) => rclone('copy', from, `berth:data/${to}/tree`),
  },
  sshfs: {
    get: (name, to) => run('cp', [join(mount(), name), to]),
    put: (from, name) => run('cp', [from, join(mount(), name)]),
    getTree: (name, to) => run('cp', ['-r', join(mount(), name), to]),
    putTree: (from, to) => run('cp', ['-r', from, join(mount(), to)]),
  },
  curl: {
    get: (name, to) => curl(name, '-o', to),
    put: (from, name) => curl(name, '-T', from),
  },
}

/** `npm test` moves the large file with only one of them, PSCP, because it requests parts far ahead. */
const WITH_LARGE = testSet(process.env) === 'all' ? Object.keys(CLIENTS) : ['pscp']

/** @returns a reason to leave the client out */
async function prepare(client: string): Promise<string | undefined> {
  const isThere = await run('which', [client]).then(
    () => true,
    () => false,
  )
  if (!isThere) return `no ${client}`
  if (client === 'curl') return (await run('curl', ['-V'])).stdout.includes(' sftp ') ? undefined : 'no SFTP in curl'
  if (client === 'rclone') await run('sh', ['-c', kit.commands.rclone])
  if (client !== 'sshfs') return undefined
  await mkdir(mount())
  const mounted = run('sshfs', ['-F', kit.configFile, `${kit.hostAlias}:/data`, mount()])
  return await mounted.then(
    () => {
      stack.defer(() =>
        run('fusermount', ['-u', mount()]).then(
          () => undefined,
          () => undefined,
        ),
      )
      return undefined
    },
    () => 'FUSE is not permitted here',
  )
}

test.for(Object.entries(CLIENTS))(
  '%s moves files of every size, and a directory',
  async ([program, client], context) => {
    const reason = await prepare(program)
    if (reason !== undefined) {
      context.skip(reason)
      return
    }
    const [from, up] = [join(folder, 'down'), join(local, 'up')]
    const [got, put] = [join(local, `got-${program}`), join(folder, program)]
    for (const place of [got, put]) await mkdir(place, { recursive: true })
    const moves = NAMES.flatMap(name => [
      client.get(`down/${name}`, join(got, name)),
      client.put(join(up, name), `${program}/${name}`),
    ])
    await Promise.all(moves)
    await client.getTree?.('down/tree', got)
    await client.putTree?.(join(up, 'tree'), program)
    // Reports which file differs, or is missing.
    const without = client.getTree ? [] : ['-x', 'tree']
    const differences = async (one: string, other: string) => {
      const compared = run('diff', ['-rq', ...without, one, other])
      return await compared.then(
        () => '',
        (error: unknown) => (error as { stdout: string }).stdout,
      )
    }
    expect(await differences(from, got)).toBe('')
    expect(await differences(up, put)).toBe('')

    if (!WITH_LARGE.includes(program)) return
    const large = join(local, `large-${program}`)
    await client.get('large', large)
    await run('cmp', [join(folder, 'large'), large])
    await rm(large)
  },
)

test('PSCP gets what a wildcard names, and curl lists a directory and a range', async () => {
  const to = join(local, 'wild')
  await mkdir(to)
  await pscp(puttyAt('down/*l*'), to)
  expect((await readdir(to)).toSorted()).toEqual(['middle', 'small'])
  expect((await stat(join(to, 'middle'))).size).toBe(SIZES.middle)
  if ((await prepare('curl')) !== undefined) return
  expect((await curl('down/')).stdout).toMatch(/ 1000003 .* middle$/m)
  await curl('down/middle', '-r', '999999-', '-o', join(to, 'end'))
  expect((await stat(join(to, 'end'))).size).toBe(4)
})
