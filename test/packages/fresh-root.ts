import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Suite, ensureBaseImage } from '../../build/bootstrap/base-image.ts'
import { ensureEngine } from '../../build/bootstrap/docker-engine.ts'
import { readPlatform } from '../../build/bootstrap/platform.ts'
import { managerIdOf } from '../fixtures/berth.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'

const run = promisify(execFile)

const SYSTEMD_IMAGE = 'berth-test/systemd:bookworm'
const INSTALL_SYSTEMD = `cp -n /host-apt/99* /etc/apt/apt.conf.d/ 2>/dev/null || true
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends systemd`

/** A fresh Debian in which a package is installed; Docker Engine and network are those of this computer. */
export interface FreshRoot extends AsyncDisposable {
  /** Name of its container. */
  readonly name: string
  /** Data directory; it has the same path for the Docker Engine, which mounts homes from it. */
  readonly data: string
  /** Runs a shell command as root. @throws with its output if it fails */
  shell(command: string): Promise<string>
  /** Starts a unit's command in the foreground, as systemd would. */
  startUnit(unit: string): Promise<RunningServers>
  /** Starts servers with a command whose `--json` output reports when they are ready. */
  startServers(command: string): Promise<RunningServers>
}

export interface RunningServers {
  readonly url: string
  /** Ends it like `systemctl stop`. */
  stop(): Promise<void>
}

/**
 * @param packages folder with the packages, mounted at /packages
 * @param options more options of `docker run`
 * @param suite the release
 */
export const openFreshRoot = async (
  packages: string,
  options: readonly string[] = [],
  suite: Suite = 'trixie',
): Promise<FreshRoot> => {
  await ensureRelease(suite)
  return openRoot(packages, ['--init', ...options, `debian:${suite}-slim`, 'sleep', 'infinity'])
}

/**
 * A Debian 12 whose first process is systemd: the newest one that Debian builds for control groups of version 1 too, which some of our
 * computers have. It may change mounts and control groups, those of this computer included, as systemd does.
 *
 * @param options more options of `docker run`
 */
export async function openSystemdRoot(packages: string, options: readonly string[] = []): Promise<FreshRoot> {
  await ensureRelease('bookworm')
  await ensureSystemdImage()
  const mounts = ['--tmpfs', '/run:exec', '--tmpfs', '/run/lock', '-v', '/sys/fs/cgroup:/sys/fs/cgroup']
  const rights = [
    '--cap-add',
    'SYS_ADMIN',
    '--security-opt',
    'seccomp=unconfined',
    '--security-opt',
    'apparmor=unconfined',
  ]
  const root = await openRoot(packages, [
    ...rights,
    ...mounts,
    ...options,
    '-e',
    'container=docker',
    SYSTEMD_IMAGE,
    '/lib/systemd/systemd',
  ])
  const deadline = AbortSignal.timeout(60_000)
  const state = () => root.shell('systemctl is-system-running || true')
  for (let now = await state(); now.trim() !== 'running'; now = await state()) {
    if (deadline.aborted) throw new Error(`systemd is ${now}${await root.shell('systemctl --failed --no-pager')}`)
    await sleep(200)
  }
  return root
}

/** @param container options of `docker run`, the image and its command */
async function openRoot(packages: string, container: readonly string[]): Promise<FreshRoot> {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-packages-'))
  const name = basename(data)
  await run('chmod', ['711', data])
  const mounts = [
    '/var/run/docker.sock:/run/docker.sock',
    `${data}:${data}`,
    `${packages}:/packages:ro`,
    '/etc/apt/apt.conf.d:/host-apt:ro',
  ]
  await run('docker', [
    ...['run', '-d', '--name', name, '--label', 'berth.test=packages', '--network', 'host'],
    ...['--cap-add', 'NET_ADMIN', '--cap-add', 'NET_RAW', ...mounts.flatMap(mount => ['-v', mount])],
    ...container,
  ])
  const environment = { BERTH_DATA: data, BERTH_CONFIG_DIR: '/root/berth', BERTH_AGENT_CLAIM: name, BERTH_PORT: '0' }
  const inside = ['exec', ...Object.entries(environment).flatMap(([key, value]) => ['-e', `${key}=${value}`]), name]
  const shell = async (command: string) => {
    try {
      const { stdout, stderr } = await run('docker', [...inside, 'sh', '-ec', command], { maxBuffer: 1 << 24 })
      return stdout + stderr
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
      throw new Error(`${command}\n${stdout}${stderr}`, { cause: error })
    }
  }
  async function startServers(command: string): Promise<RunningServers> {
    // The shell reports its process id, which exec keeps: Docker passes no signals to a process that it started with exec.
    const child = spawn('docker', [...inside, 'sh', '-c', `echo $$; exec ${command} --json`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const pid = String((await lines.next()).value)
    const ready = await lines.next()
    if (ready.done) throw new Error(`${command} ended before it was ready`)
    const { url } = JSON.parse(ready.value) as { url: string }
    return {
      url,
      async stop() {
        const ended = once(child, 'exit')
        await shell(`kill -TERM ${pid}`)
        await ended
      },
    }
  }
  // Settings of this computer's apt, e.g. its mirror's certificate.
  await shell('cp -n /host-apt/99* /etc/apt/apt.conf.d/ 2>/dev/null || true; apt-get update -q')
  return {
    name,
    data,
    shell,
    startServers,
    startUnit: async unit =>
      startServers((await shell(`sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/${unit}`)).trim()),
    async [Symbol.asyncDispose]() {
      await run('docker', ['rm', '-f', name])
      await removeEverythingOf(await managerIdOf(data))
      await run('docker', ['volume', 'rm', '-f', name]).catch(() => undefined)
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** Makes the image with systemd, if it does not exist. */
async function ensureSystemdImage(): Promise<void> {
  if (
    await run('docker', ['image', 'inspect', SYSTEMD_IMAGE]).then(
      () => true,
      () => false,
    )
  )
    return
  const name = `berth-test-systemd-${process.pid}`
  const label = ['--label', 'berth.test=packages']
  try {
    await run('docker', [
      ...['run', '--name', name, ...label, '--network', 'host', '-v', '/etc/apt/apt.conf.d:/host-apt:ro'],
      ...['debian:bookworm-slim', 'sh', '-ec', INSTALL_SYSTEMD],
    ])
    await run('docker', ['commit', name, SYSTEMD_IMAGE])
  } finally {
    await run('docker', ['rm', '-f', name])
  }
}

/** Makes the image of a release, if it does not exist. */
async function ensureRelease(suite: Suite): Promise<void> {
  const deps = {
    platform: readPlatform(),
    note: () => undefined,
    signal: new AbortController().signal,
    dataDir: tmpdir(),
  }
  const { engine } = await ensureEngine(deps)
  await ensureBaseImage({ ...deps, engine, suite, workDir: join(tmpdir(), 'berth-test-release') })
}
