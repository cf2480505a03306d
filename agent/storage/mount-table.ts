import { plainField } from '#base/mount-info'

/** A mount of a namespace, from mountinfo. */
export interface MountEntry {
  readonly at: string
  /** Options of this mount, not of its file system: `rw`, `nosuid`, … */
  readonly options: readonly string[]
  /** Peer group in which its mounts are told to others; undefined unless it is shared. */
  readonly shared: number | undefined
  /** Peer group whose mounts appear in it; undefined unless it is a slave. */
  readonly master: number | undefined
}

/** All mounts of a namespace, in the order in which they were made. @param mountinfo see proc_pid_mountinfo(5) */
export function readMounts(mountinfo: string): MountEntry[] {
  return mountinfo.split('\n').flatMap(line => {
    const [, , , , at, options, ...rest] = (line.split(' - ')[0] ?? '').split(' ')
    if (at === undefined || options === undefined) return []
    return [
      { at: plainField(at), options: options.split(','), shared: group(rest, 'shared'), master: group(rest, 'master') },
    ]
  })
}

function group(fields: readonly string[], name: string): number | undefined {
  const field = fields.find(text => text.startsWith(`${name}:`))
  return field === undefined ? undefined : Number(field.slice(name.length + 1))
}

/** The visible mount at a place: the last of several. */
export function mountAt(mounts: readonly MountEntry[], at: string): MountEntry | undefined {
  return mounts.findLast(mount => mount.at === at)
}

/** The mounts at a directory and below it, the innermost and last first: the order in which they can be unmounted. */
export function mountsFrom(mounts: readonly MountEntry[], directory: string): MountEntry[] {
  return mounts.filter(({ at }) => at === directory || at.startsWith(`${directory}/`)).toReversed()
}

/**
 * Whether what is mounted in `source` of the own namespace appears at `target` of a container: the kernel itself says so by the
 * numbers of peer groups, which are unique on the machine. An agent in a mount namespace of its own has another group than
 * the one that its engine saw.
 */
export function isReached(
  own: { readonly mounts: readonly MountEntry[]; readonly source: string },
  container: { readonly mounts: readonly MountEntry[]; readonly target: string },
): boolean {
  const source = mountAt(own.mounts, own.source)
  const target = mountAt(container.mounts, container.target)
  return source?.shared !== undefined && target?.master === source.shared
}

/** Options that only restrict, in mountinfo and for mount(8). */
const RESTRICTING = ['noexec', 'noatime', 'nodiratime']

/**
 * Options of the mount of a folder in a session: those of the storage's own mount, which a remount would reset, and without
 * set-user-id programs and devices.
 */
export function folderOptions(storage: readonly string[], readOnly: boolean): string {
  const kept = RESTRICTING.filter(option => storage.includes(option))
  const isReadOnly = readOnly || storage.includes('ro')
  return ['bind', isReadOnly ? 'ro' : 'rw', 'nosuid', 'nodev', ...kept].join(',')
}
