import { readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian and what is made of it: apt-get, and package names as in Debian. */
export interface Platform {
  /** `PRETTY_NAME` of /etc/os-release, e.g. "Debian GNU/Linux 12 (bookworm)". */
  readonly name: string
  readonly debianLike: boolean
  readonly root: boolean
}

/** @param osRelease text of /etc/os-release; undefined where there is none (macOS, Windows) */
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

/** Path of a program, looked for in PATH and where Debian keeps those of root; undefined if it is nowhere. */
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

/** Is systemd this machine's service manager, as it decides itself (sd_booted(3))? */
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
