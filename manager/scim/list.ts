import { type Doc } from './patch.ts'

/** The part of a list that a client asks for. */
export interface Wanted {
  readonly offset: number
  readonly limit: number
  readonly withMembers: boolean
}

export interface Found {
  /** Number of resources of all pages. */
  readonly total: number
  readonly resources: readonly Doc[]
}

/** The entries of the page, where SQL cannot choose them. */
export const partOf = <T>(all: readonly T[], { offset, limit }: Pick<Wanted, 'offset' | 'limit'>): T[] =>
  all.slice(offset, offset + limit)
