import { z } from 'zod'

interface Meaning {
  /** Column of `groups`. */
  readonly column: string
  /** Objects that exist already and that a change concerns; null: none, only new ones are counted. */
  readonly limits: 'folders' | 'sessions' | null
  /** Unit of the limit; the form of the page takes bytes as GiB. */
  readonly unit: 'bytes' | 'count'
  /** The smallest limit. */
  readonly least: 0 | 1
  readonly text: string
}

/**
 * Limits of a project that are one number; null is unlimited. It is the only list of them: the settings of the contract, the columns of a row
 * and the form of the page are made from it.
 */
export const PROJECT_LIMITS = {
  maxFolderBytes: {
    column: 'max_folder_bytes',
    limits: 'folders',
    unit: 'bytes',
    least: 1,
    text: 'Size on disk of all folders of the project, those in the trash included; null = unlimited.',
  },
  maxFolderFiles: {
    column: 'max_folder_files',
    limits: 'folders',
    unit: 'count',
    least: 1,
    text: 'Number of files in all folders of the project, those in the trash included; directories and links count. Null = unlimited.',
  },
} as const satisfies Readonly<Record<string, Meaning>>
export type ProjectLimit = keyof typeof PROJECT_LIMITS
export type ProjectLimitColumn = (typeof PROJECT_LIMITS)[ProjectLimit]['column']

export const PROJECT_LIMIT_NAMES = Object.keys(PROJECT_LIMITS) as ProjectLimit[]

/** Something for each limit. */
export const perProjectLimit = <T>(make: (name: ProjectLimit) => T): Record<ProjectLimit, T> =>
  Object.fromEntries(PROJECT_LIMIT_NAMES.map(name => [name, make(name)])) as Record<ProjectLimit, T>

/** No limits. */
export const UNLIMITED_PROJECT: Record<ProjectLimit, number | null> = perProjectLimit(() => null)

export const projectLimitSettings = perProjectLimit(name => {
  const { least, text } = PROJECT_LIMITS[name]
  return z.int().min(least).nullable().describe(text)
})
