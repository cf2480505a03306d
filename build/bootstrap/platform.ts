import { readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The operating system. Debian and its derivatives (`debianLike`) have apt-get, and package names as in Debian. */
export interface Platform {
  /** `PRETTY_NAME` of /etc/os-release, e.g. "Debian GNU/Linux 12 (bookworm)". */
  readonly name: string
  readonly debianLike: boolean
  readonly root: boolean
}

/** @param osRelease text of /etc/os-release; undefined if there is none (macOS, Windows) */
export function parsePlatform(osRelease: string | undefined, uid: number | undefined): Platform {
  const fields = new Map(
    (osRelease ?? '').split('\n').map(line => {
      const [key = '', ...rest] = line.split('=')
      return [
        key.trim(),
        rest
          .join('=')
          .trim()
          .replaceAll(/^["']|["']$/g, ''),
      ]
    }),
  )
  const families = `${fields.get('ID') ?? ''} ${fields.get('ID_LIKE') ?? ''}`.split(' ')
  return {
    name: fields.get('PRETTY_NAME') ?? process.platform,
    debianLike: families.includes('debian') || families.includes('ubuntu'),
    root: uid === 0,
  }
}

export function readPlatform(): Platform {
  return parsePlatform(readText('/etc/os-release'), process.getuid?.())
}

/** Path of a program, searched in PATH and in Debian's folders for root's programs; undefined if not found. */
export function findProgram(name: string): string | undefined {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
    '/usr/bin',
    '/bin',
  ]
  return folders
    .filter(folder => folder !== '')
    .map(folder => join(folder, name))
    .find(path => isFile(path))
}

/** Whether systemd is this machine's service manager, by its own criterion (sd_booted(3)). */
export function hasSystemd(): boolean {
  return statSync('/run/systemd/system', { throwIfNoEntry: false })?.isDirectory() ?? false
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
