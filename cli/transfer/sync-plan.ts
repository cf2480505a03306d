/** An entry of a directory, on either side. */
export interface SyncNode {
  readonly kind: 'file' | 'directory' | 'other'
  readonly size: number
  readonly modifiedMs: number
  /** Version of a file in a folder. */
  readonly etag?: string | null
  /** Whether a file may be run; left out where files do not say so. */
  readonly executable?: boolean
  /** For nobody but its owner; of files in the folder alone. */
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

/**
 * Compares the entries of a directory of the source with those at the target.
 *
 * @returns a step for each name of the source, and for those of the target that are to be deleted
 */
export function compareEntries(
  source: ReadonlyMap<string, SyncNode>,
  target: ReadonlyMap<string, SyncNode>,
  rules: SyncRules,
): Map<string, SyncStep> {
  const steps = new Map<string, SyncStep>()
  for (const [name, node] of source) steps.set(name, stepFor(node, target.get(name), rules))
  if (rules.delete) for (const name of target.keys()) if (!source.has(name)) steps.set(name, 'delete')
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

/** Whether two files agree about being run, as far as both say. */
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
