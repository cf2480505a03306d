/** A mounted file system, from /proc/self/mountinfo. */
export interface Mount {
  readonly mountPoint: string
  readonly type: string
  /** Options of the file system, such as `prjquota`. */
  readonly options: readonly string[]
}

/** A mount with the flags of this place alone, such as `nosuid`. */
export interface PlacedMount extends Mount {
  readonly flags: readonly string[]
}

/**
 * The file system that holds a path; undefined if the text names none.
 *
 * @param mountinfo see proc_pid_mountinfo(5); of several mounts at one place, the last is the visible one
 */
export function longestMount(mountinfo: string, path: string): PlacedMount | undefined {
  let best: PlacedMount | undefined
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , , field, flags = ''] = before.split(' ')
    const mountPoint = field === undefined ? undefined : plainField(field)
    const [type, , options] = after.split(' ')
    if (mountPoint === undefined || type === undefined || options === undefined) continue
    const isAbove = mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`)
    if (isAbove && mountPoint.length >= (best?.mountPoint.length ?? 0)) {
      best = { mountPoint, type, options: options.split(','), flags: flags.split(',') }
    }
  }
  return best
}

/** A field of mountinfo without its escapes: `\\040` is a space. */
export function plainField(text: string): string {
  return text.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)))
}
