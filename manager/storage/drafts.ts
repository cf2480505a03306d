import { randomUUID } from 'node:crypto'

const DRAFT = /^\.berth-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Matches the names of drafts, for `find -name`. */
export const DRAFT_PATTERN = '.berth-????????-????-????-????-????????????'

/**
 * Name for an unfinished file or directory, in the directory where it will be. Listings leave it out. A draft whose manager died is removed
 * a day later, when the folder is measured.
 */
export const newDraftName = (): string => `.berth-${randomUUID()}`

export const isDraft = (name: string): boolean => DRAFT.test(name)
