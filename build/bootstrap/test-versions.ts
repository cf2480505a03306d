import { runCommand } from './command.ts'
import { TEST_PACKAGES } from './test-tools.ts'

/** Version by the name of what the tests run with: Debian packages, the Docker Engine and Node. */
export type Versions = Readonly<Record<string, string>>

/**
 * Versions of browser, engine, database and clients on this machine. A distribution updates them by itself, so a test can fail without a change of
 * Berth. What cannot be asked is left out.
 */
export async function readVersions(environment: NodeJS.ProcessEnv): Promise<Versions> {
  const [packages, engine] = await Promise.all([
    // dpkg-query fails where a package is missing, but prints the others. Some systems have no dpkg.
    outputOf('sh', [
      '-c',
      'dpkg-query -W -f \'${Package} ${Version}\\n\' "$@" 2>/dev/null || true',
      'sh',
      ...TEST_PACKAGES,
    ]),
    outputOf('docker', ['version', '--format', '{{.Server.Version}}'], environment),
  ])
  const pairs = packages.split('\n').map(line => line.split(' '))
  const installed = pairs.flatMap(([name = '', version = '']) => (version === '' ? [] : [[name, version] as const]))
  return {
    ...Object.fromEntries(installed),
    ...(engine === '' ? {} : { 'Docker Engine': engine }),
    Node: process.versions.node,
  }
}

async function outputOf(program: string, args: readonly string[], env = process.env): Promise<string> {
  try {
    return (await runCommand(program, args, { env })).trim()
  } catch {
    return ''
  }
}

/** Names that the last lines of `npm test` always tell; of the others only what changed. */
const TOLD = [
  'Node',
  'chromium',
  'chromium-headless-shell',
  'Docker Engine',
  'postgresql',
  'openssh-client',
  'putty-tools',
]

/** Lines with the versions of this run, and what changed since `stored`. */
export function describeVersions(now: Versions, stored: Versions): string[] {
  const told = TOLD.flatMap(name => (now[name] === undefined ? [] : [`${name} ${now[name]}`]))
  const changed = Object.entries(now).flatMap(([name, version]) => {
    const before = stored[name]
    return before === undefined || before === version
      ? []
      : [`changed since the stored run: ${name} ${before} → ${version}`]
  })
  return [...(told.length === 0 ? [] : [`tested with ${told.join(', ')}`]), ...changed]
}
