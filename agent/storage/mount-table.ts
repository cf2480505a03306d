import { plainField } from '#base/mount-info'

/** A mount of a namespace, from mountinfo. */
export interface MountEntry {
  readonly at: string
  /** Options of this mount, not of its file system: `rw`, `nosuid`, … */
  readonly options: readonly string[]
  /** Peer group to which its mounts are propagated; undefined unless it is shared. */
  readonly shared: number | undefined
  /** Peer group from which mounts are propagated to it; undefined unless it is a slave. */
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
 * Whether mounts in `source` of this namespace appear at `target` of a container, according to the kernel's numbers of peer groups, which
 * are unique on the machine. An agent in a separate mount namespace has another group than its engine.
 */
export function isReached(
  own: { readonly mounts: readonly MountEntry[]; readonly source: string },
  container: { readonly mounts: readonly MountEntry[]; readonly target: string },
): boolean {
  const source = mountAt(own.mounts, own.source)
  const target = mountAt(container.mounts, container.target)
  return source?.shared !== undefined && target?.master === source.shared
}

/** Options that only restrict, as named in mountinfo and for mount(8). */
const RESTRICTING = ['noexec', 'noatime', 'nodiratime']

/**
 * Options for mounting a folder in a session: those of the storage's own mount, which a remount would reset, and no set-user-id programs
 * and devices.
 */
export function folderOptions(storage: readonly string[], readOnly: boolean): string {
  const kept = RESTRICTING.filter(option => storage.includes(option))
  const isReadOnly = readOnly || storage.includes('ro')
  return ['bind', isReadOnly ? 'ro' : 'rw', 'nosuid', 'nodev', ...kept].join(',')
}
