import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { findProgram, type Platform } from './platform.ts'
import { StepError, type Note } from './progress.ts'
import { type TestSet } from './test-sets.ts'

interface Tool {
  /** Name of the Debian package. */
  readonly name: string
  readonly isThere: () => boolean
  /** Only tests of `npm run test:all` need it. */
  readonly rare?: boolean
}

const program = (name: string, executable: string): Tool => ({
  name,
  isThere: () => findProgram(executable) !== undefined,
})

const library = (name: string, file: string): Tool => ({
  name,
  isThere: () =>
    ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64'].some(folder =>
      existsSync(join(folder, file)),
    ),
})

/** Debian packages with the programs that the tests need besides npm packages. */
const TOOLS: readonly Tool[] = [
  // Chromium opens windows; most tests look at pages with its headless shell.
  program('chromium', 'chromium'),
  program('chromium-headless-shell', 'chromium-headless-shell'),
  // A screen, a window manager, a terminal, a compositor of Wayland and a session bus for the desktop app; xdotool and xprop read the screen's windows.
  program('xvfb', 'Xvfb'),
  program('openbox', 'openbox'),
  program('xdotool', 'xdotool'),
  program('x11-utils', 'xprop'),
  program('xterm', 'xterm'),
  program('weston', 'weston'),
  program('dbus', 'dbus-daemon'),
  library('libgtk-3-0', 'libgtk-3.so.0'),
  program('openssh-client', 'ssh'),
  program('rsync', 'rsync'),
  program('putty-tools', 'psftp'),
  // Foreign clients of SFTP; with their dependencies 73 MB, and FileZilla's 35.
  program('rclone', 'rclone'),
  program('lftp', 'lftp'),
  program('sshfs', 'sshfs'),
  program('filezilla', 'filezilla'),
  program('iproute2', 'ip'),
  program('procps', 'ps'),
  // Debian 13 packages the command line separately from the engine.
  program('docker-cli', 'docker'),
  program('docker-registry', 'docker-registry'),
  program('apache2-utils', 'htpasswd'),
  program('openssl', 'openssl'),
  // The examples of the documentation are run as they are printed.
  program('python3', 'python3'),
  program('curl', 'curl'),
  // A real reverse proxy, to test which fields it sends and which it leaves out.
  program('haproxy', 'haproxy'),
  // A directory of people for sign-ins by LDAP.
  program('slapd', 'slapd'),
  // A certificate authority that speaks ACME, made for tests by that of Let's Encrypt.
  program('pebble', 'pebble'),
  // Limits of a home's size are tested on a real btrfs, on a loop device.
  program('btrfs-progs', 'mkfs.btrfs'),
  // Folders of several hosts are on a real shared file system.
  { ...program('glusterfs-server', 'glusterd'), rare: true },
  { name: 'postgresql', isThere: () => postgresFolder() !== undefined },
  // Without fonts, a screenshot shows only boxes.
  {
    name: 'fonts-dejavu-core',
    isThere: () => existsSync('/usr/share/fonts') && readdirSync('/usr/share/fonts').length > 0,
  },
  // Hangul is wider than the boxes that stand for it: without it, no test sees what is cut in Korean.
  {
    name: 'fonts-nanum',
    isThere: () => ['truetype/nanum', 'opentype/noto'].some(folder => existsSync(join('/usr/share/fonts', folder))),
  },
]

/** Names of these packages. */
export const TEST_PACKAGES: readonly string[] = TOOLS.map(({ name }) => name)

/** Folder with initdb and postgres of the newest PostgreSQL from Debian's packages. */
export function postgresFolder(): string | undefined {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return undefined
  return readdirSync(base)
    .sort((a, b) => Number(b) - Number(a))
    .map(version => join(base, version, 'bin'))
    .find(folder => existsSync(join(folder, 'initdb')))
}

/** @throws StepError naming the missing packages, if we may not install them */
export async function ensureTestTools(
  platform: Platform,
  set: TestSet,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  const missing = TOOLS.filter(tool => !(tool.rare && set === 'change') && !tool.isThere()).map(tool => tool.name)
  if (missing.length === 0) return 'already there'
  if (!platform.debianLike || !platform.root) {
    throw new StepError(
      `the tests also need ${missing.join(', ')}`,
      platform.debianLike
        ? `sudo apt-get install ${missing.join(' ')}`
        : 'These are Debian’s names; install the same from your system.',
    )
  }
  if (missing.includes('postgresql')) keepPostgresIdle()
  for (const [name, service = name] of [
    ['docker-registry'],
    ['haproxy'],
    ['slapd'],
    ['glusterfs-server', 'glusterd'],
  ] as const)
    if (missing.includes(name)) keepIdle(service)
  note(`installing ${missing.join(', ')} with apt-get`)
  await installPackages(missing, note, signal)
  return `installed ${missing.join(', ')}`
}

/** Keeps a package from starting its service for the whole machine: tests start their own registries, reverse proxies and directories. */
function keepIdle(service: string): void {
  const unit = `/etc/systemd/system/${service}.service`
  if (existsSync('/etc/systemd/system') && !existsSync(unit)) symlinkSync('/dev/null', unit)
}

/** Keeps the package from creating a cluster for the whole machine: tests create their own. */
function keepPostgresIdle(): void {
  const folder = '/etc/postgresql-common'
  if (existsSync(join(folder, 'createcluster.conf'))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'createcluster.conf'), 'create_main_cluster = false\n')
}
