import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { type Suite, ensureBaseImage } from '../../build/bootstrap/base-image.ts'
import { ensureEngine } from '../../build/bootstrap/docker-engine.ts'
import { readPlatform } from '../../build/bootstrap/platform.ts'
import { managerIdOf } from '../fixtures/berth.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'

const run = promisify(execFile)

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
export async function openFreshRoot(
  packages: string,
  options: readonly string[] = [],
  suite: Suite = 'trixie',
): Promise<FreshRoot> {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-packages-'))
  const name = basename(data)
  await ensureRelease(suite)
  await run('chmod', ['711', data])
  const mounts = [
    '/var/run/docker.sock:/var/run/docker.sock',
    `${data}:${data}`,
    `${packages}:/packages:ro`,
    '/etc/apt/apt.conf.d:/host-apt:ro',
  ]
  await run('docker', [
    ...['run', '-d', '--name', name, '--label', 'berth.test=packages', '--network', 'host', '--init'],
    ...['--cap-add', 'NET_ADMIN', '--cap-add', 'NET_RAW', ...mounts.flatMap(mount => ['-v', mount])],
    ...options,
    ...[`debian:${suite}-slim`, 'sleep', 'infinity'],
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
