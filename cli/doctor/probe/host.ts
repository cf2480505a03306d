import { execFile } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { access, constants, readdir, readFile, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { NVIDIA_HOOK, parseGpuList } from '#agent/contract'
import { type AmdFacts, type DataDirectory, type IptablesFacts, type Nvidia, type SecretFile } from '../facts.ts'
import { freeBytes } from './engine.ts'
import { type Fetch } from '#proxy/network'

const run = promisify(execFile)
const TIMEOUT_MS = 10_000

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT'

export async function probeNvidia(program = 'nvidia-smi'): Promise<Nvidia> {
  try {
    const query = ['--query-gpu=driver_version', '--format=csv,noheader']
    const { stdout } = await run(program, query, { timeout: TIMEOUT_MS })
    const driver = stdout.split('\n').find(line => line.trim() !== '')
    const list = parseGpuList((await run(program, ['-L'], { timeout: TIMEOUT_MS })).stdout)
    const parents = new Set(list.map(({ parent }) => parent))
    return {
      status: 'works',
      driver: driver?.trim() ?? 'unknown',
      gpus: list.filter(({ uuid }) => !parents.has(uuid)),
      hook: await hasHook(),
      limitsMemory: await canLimitMemory(program),
    }
  } catch (error) {
    if (isMissing(error)) return { status: 'absent' }
    const said = error as { stdout?: string; stderr?: string; message?: string }
    const why = [said.stderr, said.stdout, said.message].find(text => text?.trim())
    return { status: 'failing', why: (why ?? 'unknown').trim().split('\n')[0] ?? '' }
  }
}

/** Looks for GPUs of AMD in the files of their driver: there need be no ROCm on a host. @param root directory of /sys and /dev */
export async function probeAmd(root = '/'): Promise<AmdFacts> {
  const names = await readdir(join(root, 'sys/bus/pci/drivers/amdgpu')).catch(() => [])
  const canCompute = await stat(join(root, 'dev/kfd')).then(
    () => true,
    () => false,
  )
  return { gpus: names.filter(name => /^[\da-f]+:[\da-f]{2}:[\da-f]{2}\.\d$/i.test(name)).length, canCompute }
}

/** Docker looks for the hook in the PATH of its service; ours may lack parts of it. */
async function hasHook(): Promise<boolean> {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/bin', '/usr/bin']
  const looks = directories.map(directory => access(join(directory, NVIDIA_HOOK), constants.X_OK))
  return (await Promise.allSettled(looks)).some(({ status }) => status === 'fulfilled')
}

/** Whether GPU memory limits can be set here, which the agent requires before it calls a part of a GPU enforced. */
async function canLimitMemory(program: string): Promise<boolean> {
  const hasUnifiedGroups = await stat('/sys/fs/cgroup/cgroup.controllers').catch(() => undefined)
  if (!hasUnifiedGroups) return false
  return await run(program, ['memory-limits', '--help'], { timeout: TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
}

export async function probeDataDirectory(path: string): Promise<DataDirectory> {
  const entry = await stat(path).catch(() => undefined)
  const hasModes = process.platform !== 'win32'
  return {
    path,
    exists: entry !== undefined,
    mode: entry && hasModes ? entry.mode & 0o777 : undefined,
    foreign: entry !== undefined && hasModes && entry.uid !== process.getuid?.(),
    freeBytes: await freeBytesAbove(path),
  }
}

/** Free space for a directory; if it does not exist yet, of its nearest existing parent. */
export async function freeBytesAbove(path: string): Promise<number | undefined> {
  const free = await freeBytes(path)
  return free !== undefined || dirname(path) === path ? free : await freeBytesAbove(dirname(path))
}

export async function probeSecrets(paths: readonly string[]): Promise<SecretFile[]> {
  const found = await Promise.all(
    paths.map(async path => {
      const entry = await stat(path).catch(() => undefined)
      return entry ? [{ path, mode: entry.mode & 0o777 }] : []
    }),
  )
  return found.flat()
}

/** Reads the chain FORWARD, which only root may; the agent's rules are called from there, or from DOCKER-USER. */
export async function probeIptables(program = 'iptables'): Promise<IptablesFacts> {
  try {
    // Search the folders that the agent searches: many root shells lack those of root's programs in their PATH.
    const env = {
      ...process.env,
      PATH: `${process.env.PATH ?? ''}${delimiter}/usr/local/sbin${delimiter}/usr/sbin${delimiter}/sbin`,
    }
    const { stdout } = await run(program, ['-w', '5', '-S', 'FORWARD'], { timeout: TIMEOUT_MS, env })
    return { status: 'works', dockerUser: stdout.split('\n').includes('-A FORWARD -j DOCKER-USER') }
  } catch (error) {
    if (isMissing(error)) return { status: 'missing' }
    const { stderr = '', message = '' } = error as { stderr?: string; message?: string }
    return { status: 'failing', why: (stderr.trim() || message).split('\n')[0] ?? '' }
  }
}

export async function readIpForward(): Promise<boolean | undefined> {
  const text = await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8').catch(() => undefined)
  return text === undefined ? undefined : text.trim() === '1'
}

export async function resolvesLocalhostNames(): Promise<boolean> {
  const found = await lookup('berth-doctor.localhost', { all: true }).catch(() => [])
  return found.length > 0 && found.every(({ address }) => address === '::1' || address.startsWith('127.'))
}

export async function readSshVersion(): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run('ssh', ['-V'], { timeout: TIMEOUT_MS })
    return (stderr || stdout).trim()
  } catch {
    return undefined // not installed
  }
}

/** Codes of `MANAGER_WARNINGS`, or of a newer manager. */
export async function readManagerWarnings(
  url: string | undefined,
  fetchManager: Fetch,
): Promise<readonly string[] | undefined> {
  if (url === undefined) return undefined
  try {
    const reply = await fetchManager(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { warnings = [] } = (await reply.json()) as { warnings?: string[] }
    return warnings
  } catch {
    return undefined // the manager is just stopping, as in `readManagerAhead`
  }
}

/** Difference of the clocks by the Date header of a reply, give or take a second. */
export async function readManagerAhead(url: string | undefined, fetchManager: Fetch): Promise<number | undefined> {
  if (url === undefined) return undefined
  try {
    const reply = await fetchManager(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const date = Date.parse(reply.headers.get('date') ?? '')
    return Number.isNaN(date) ? undefined : date - Date.now()
  } catch {
    return undefined // the manager is just stopping; another check covers whether it runs
  }
}
