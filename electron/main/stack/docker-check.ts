import { access, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { type DockerCheck } from '#proxy/contract'

const ANSWERS_WITHIN_MS = 3_000

export interface DockerDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Text of /etc/os-release; '' if there is none. */
  readonly osRelease: string
  /** Connects to a socket of an engine. @throws an error with the code of the system */
  readonly ping: (socketPath: string) => Promise<void>
  /** Whether a program of the engine is installed. */
  readonly isInstalled: () => Promise<boolean>
}

/** Finds out whether the Docker Engine of this computer can run sessions, and if not, the command that fixes it. */
export async function checkDocker(deps: DockerDeps): Promise<DockerCheck> {
  const { platform, env } = deps
  if (platform !== 'linux') return { state: 'unsupported', command: null }
  const host = env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock'
  // An engine at an address: `berth up` says whether it answers.
  if (!host.startsWith('unix://')) return { state: 'ready', command: null }
  try {
    await deps.ping(host.slice('unix://'.length))
    return { state: 'ready', command: null }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EACCES' || code === 'EPERM') return { state: 'denied', command: 'sudo usermod -aG docker $USER' }
    if (await deps.isInstalled()) return { state: 'stopped', command: 'sudo systemctl enable --now docker' }
    return { state: 'missing', command: installCommand(deps.osRelease) }
  }
}

/** Command that installs Docker Engine from the distribution's own packages. */
export function installCommand(osRelease: string): string | null {
  const families = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  )
  const is = (...names: string[]) => names.some(name => families.includes(name))
  if (is('debian', 'ubuntu')) return 'sudo apt-get install -y docker.io'
  if (is('fedora')) return 'sudo dnf install -y moby-engine && sudo systemctl enable --now docker'
  if (is('arch')) return 'sudo pacman -S --noconfirm docker && sudo systemctl enable --now docker'
  if (is('suse', 'opensuse')) return 'sudo zypper install -y docker && sudo systemctl enable --now docker'
  return null
}

export const thisComputer = async (): Promise<DockerDeps> => ({
  platform: process.platform,
  env: process.env,
  osRelease: await readFile('/etc/os-release', 'utf8').catch(() => ''),
  ping,
  isInstalled: async () => {
    const found = ['/usr/bin/dockerd', '/usr/sbin/dockerd', '/usr/local/bin/dockerd', '/snap/bin/docker'].map(file =>
      access(file).then(
        () => true,
        () => false,
      ),
    )
    return (await Promise.all(found)).includes(true)
  },
})

function ping(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: '/_ping', timeout: ANSWERS_WITHIN_MS }, answer => {
      answer.resume()
      resolve()
    })
    asked.on('timeout', () => asked.destroy(new Error('the engine does not answer')))
    asked.on('error', reject)
    asked.end()
  })
}
