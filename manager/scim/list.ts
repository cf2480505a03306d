import { type Doc } from './patch.ts'

/** The part of a list that a client asks for. */
export interface Wanted {
  /** The entries of the page, so that nothing is read for the others. */
  readonly part: <T>(all: readonly T[]) => T[]
  readonly withMembers: boolean
}

export interface Found {
  /** Number of resources of all pages. */
  readonly total: number
  readonly resources: readonly Doc[]
}
