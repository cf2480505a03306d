import { type LocationQuery } from 'vue-router'

/** The order of a list: by a column, rising or falling. */
export interface ListSort<Key extends string = string> {
  readonly key: Key
  readonly descending: boolean
}

/** The text of one key of a query; empty where the key is missing or comes twice. */
export const textOf = (value: LocationQuery[string] | undefined): string => (typeof value === 'string' ? value : '')

/** Reads an order as a URL has it: `name`, or `-name` for falling. */
export const parseSort = (text: string): ListSort => ({ key: text.replace(/^-/, ''), descending: text.startsWith('-') })

/** Like `parseSort`, for a list with these columns. @returns undefined for none of them: a URL may be old or mistyped */
export function readSort<Key extends string>(text: string, keys: readonly Key[]): ListSort<Key> | undefined {
  const { key: name, descending } = parseSort(text)
  const key = keys.find(candidate => candidate === name)
  return key && { key, descending }
}

export const writeSort = ({ key, descending }: ListSort): string => `${descending ? '-' : ''}${key}`

/** The `aria-sort` of the head of a column; undefined if the list is not ordered by it. */
export function ariaSort(sort: ListSort, key: string | undefined): 'ascending' | 'descending' | undefined {
  if (sort.key !== key) return undefined
  return sort.descending ? 'descending' : 'ascending'
}
