import { inOneForm } from '#base/normal-forms'

/** An entry of a directory, on either side. */
export interface SyncNode {
  readonly kind: 'file' | 'directory' | 'other'
  readonly size: number
  readonly modifiedMs: number
  /** Version of a file in a folder. */
  readonly etag?: string | null
  /** Whether a file may be run; left out where files do not say so. */
  readonly executable?: boolean
  /** Whether the file is readable by its owner alone; set for files in the folder only. */
  readonly ownerOnly?: boolean
  /** A file that a link in the folder leads to. */
  readonly isLinked?: boolean
}

/** The step for one name. */
export type SyncStep =
  /** The file is new, or another one. */
  | 'send'
  /** Two files of the same size: the checksums decide. */
  | 'compare'
  | 'same'
  /** Only whether the file may be run is to be changed. */
  | 'mode'
  /** The directory is to be made, then its entries are compared. */
  | 'make'
  | 'enter'
  | 'delete'
  /** A directory has the name of a file, or a file that of a directory; it is replaced only where deleting is allowed. */
  | 'in the way'
  /** Links and the like, and names that cannot be used at the other side: left alone on both sides. */
  | 'skip'

export interface SyncRules {
  /** Compare files of the same size by their bytes instead of their times. */
  readonly checksum: boolean
  /** Delete what the source does not have. */
  readonly delete: boolean
}

/** Step for a name, and the name at the target. */
export interface SyncPair {
  readonly step: SyncStep
  readonly there: string
}

/**
 * Compares the entries of a directory of the source with those at the target. A name that differs from one at the target only in its Unicode form, as names
 * from a Mac do, is that name.
 *
 * @returns a step for each name of the source, and for those of the target that are to be deleted
 */
export function compareEntries(
  source: ReadonlyMap<string, SyncNode>,
  target: ReadonlyMap<string, SyncNode>,
  rules: SyncRules,
): Map<string, SyncPair> {
  const steps = new Map<string, SyncPair>()
  const byForm = new Map([...target.keys()].filter(name => !source.has(name)).map(name => [inOneForm(name), name]))
  const matched = new Set<string>()
  const seen = new Set<string>()
  for (const [name, node] of source) {
    const form = inOneForm(name)
    const there = target.has(name) ? name : (byForm.get(form) ?? name)
    // The target has one name for both: neither may replace the other.
    const isTwin = seen.has(form) && !target.has(name)
    seen.add(form)
    matched.add(there)
    steps.set(name, { step: isTwin ? 'skip' : stepFor(node, target.get(there), rules), there })
  }
  if (rules.delete)
    for (const name of target.keys()) if (!matched.has(name)) steps.set(name, { step: 'delete', there: name })
  return steps
}

function stepFor(node: SyncNode, there: SyncNode | undefined, { checksum }: SyncRules): SyncStep {
  if (node.kind === 'other') return 'skip'
  if (there === undefined) return node.kind === 'file' ? 'send' : 'make'
  if (node.kind === 'directory') return there.kind === 'directory' ? 'enter' : 'in the way'
  if (there.kind === 'directory') return 'in the way'
  // A link at the target is replaced by the file, never followed.
  if (there.kind === 'other' || there.isLinked || node.size !== there.size) return 'send'
  if (checksum) return 'compare'
  if (!isSameTime(node.modifiedMs, there.modifiedMs)) return 'send'
  return isSameMode(node, there) ? 'same' : 'mode'
}

/** Whether the executable bits agree, where both sides have one. */
export const isSameMode = (a: SyncNode, b: SyncNode): boolean =>
  a.executable === undefined || b.executable === undefined || a.executable === b.executable

/** Rounding of a time on its way through seconds as a floating-point number. */
const ROUNDING_MS = 2
const SECOND_MS = 1_000

/** Whether two times are of the same version: some file systems keep whole seconds only. */
export function isSameTime(a: number, b: number): boolean {
  if (Math.abs(a - b) <= ROUNDING_MS) return true
  const isWhole = a % SECOND_MS === 0 || b % SECOND_MS === 0
  return isWhole && Math.floor(a / SECOND_MS) === Math.floor(b / SECOND_MS)
}
