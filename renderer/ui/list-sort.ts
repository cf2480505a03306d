import { type LocationQuery } from 'vue-router'

/** The order of a list: by a column, ascending or descending. */
export interface ListSort<Key extends string = string> {
  readonly key: Key
  readonly descending: boolean
}

/** The value of one key of a query; empty if the key is missing or repeated. */
export const textOf = (value: LocationQuery[string] | undefined): string => (typeof value === 'string' ? value : '')

/** Parses an order as in a URL: `name`, or `-name` for descending. */
export const parseSort = (text: string): ListSort => ({ key: text.replace(/^-/, ''), descending: text.startsWith('-') })

/** Like `parseSort`, for a list with these columns. @returns undefined for an unknown column: a URL may be old or mistyped */
export function readSort<Key extends string>(text: string, keys: readonly Key[]): ListSort<Key> | undefined {
  const { key: name, descending } = parseSort(text)
  const key = keys.find(candidate => candidate === name)
  return key && { key, descending }
}

export const writeSort = ({ key, descending }: ListSort): string => `${descending ? '-' : ''}${key}`

/** The `aria-sort` for the head of a column; undefined if the list is sorted by another column. */
export function ariaSort(sort: ListSort, key: string | undefined): 'ascending' | 'descending' | undefined {
  if (sort.key !== key) return undefined
  return sort.descending ? 'descending' : 'ascending'
}
