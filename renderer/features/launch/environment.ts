import { MOST_VARIABLE_BYTES, RESERVED_ENVIRONMENT, variableBytes } from '#manager/contract'
import { t } from '../../words/en/launch.ts'

export interface EnvironmentRow {
  name: string
  value: string
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** The mistake in one row, given all rows; empty if there is none. A row with neither name nor value is ignored. */
export function rowError(row: EnvironmentRow, rows: readonly EnvironmentRow[]): string {
  if (row.name === '') return row.value === '' ? '' : t('needsName')
  if (!NAME.test(row.name)) return t('nameLetters')
  if (RESERVED_ENVIRONMENT.test(row.name)) return t('setByBerth')
  if (rows.some(other => other !== row && other.name === row.name)) return t('twice')
  return row.value.length > 32_768 ? t('valueLong') : ''
}

/** The mistake of all rows together: there are too many, or they are too large. */
export function totalError(rows: readonly EnvironmentRow[]): string {
  const named = rows.filter(({ name }) => name !== '')
  if (named.length > 200) return t('most200')
  const bytes = variableBytes(Object.fromEntries(named.map(({ name, value }) => [name, value])))
  return bytes > MOST_VARIABLE_BYTES ? t('variablesLarge', { bytes, most: MOST_VARIABLE_BYTES }) : ''
}

export function environError(rows: readonly EnvironmentRow[]): string {
  const total = totalError(rows)
  if (total) return total
  const wrong = rows.map(row => ({ row, error: rowError(row, rows) })).find(({ error }) => error !== '')
  if (!wrong) return ''
  const fault = `${wrong.error.charAt(0).toLowerCase()}${wrong.error.slice(1)}`
  return t('variableFault', { name: wrong.row.name || t('aVariable'), fault })
}

/** The rows to save: unfinished ones, without a name or a value, are dropped. */
export const completeRows = (rows: readonly EnvironmentRow[]): EnvironmentRow[] =>
  rows.filter(({ name, value }) => name !== '' && value !== '')

/** Whether two lists have the same variables; empty rows do not count. */
export function sameRows(some: readonly EnvironmentRow[], others: readonly EnvironmentRow[]): boolean {
  const typed = (rows: readonly EnvironmentRow[]) => rows.filter(({ name, value }) => name !== '' || value !== '')
  return JSON.stringify(typed(some)) === JSON.stringify(typed(others))
}

/**
 * Reads the usual `.env` notation: `NAME=value` per line, optional `export`, comments, single quotes (taken literally)
 * and double quotes (`\n`, `\t`, `\"`, `\\`). `$NAME` is not expanded.
 *
 * @returns the variables (the last one of duplicates), and the numbers of lines that are neither variable, comment nor blank
 */
export function parseDotEnv(text: string): { rows: EnvironmentRow[]; skipped: number[] } {
  const found = new Map<string, string>()
  const skipped: number[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const match = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(trimmed)
    if (match) found.set(match[1] ?? '', unquote(match[2] ?? ''))
    else skipped.push(index + 1)
  }
  return { rows: [...found].map(([name, value]) => ({ name, value })), skipped }
}

function unquote(raw: string): string {
  const single = /^'([^']*)'\s*(?:#.*)?$/.exec(raw)
  if (single) return single[1] ?? ''
  const double = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(raw)
  if (double) {
    return (double[1] ?? '').replace(/\\(.)/g, (_, letter: string) => ({ n: '\n', t: '\t', r: '\r' })[letter] ?? letter)
  }
  return raw.replace(/\s+#.*$/, '')
}

/** Appends new variables after the old ones; an existing variable gets the new value. */
export function mergeRows(rows: readonly EnvironmentRow[], added: readonly EnvironmentRow[]): EnvironmentRow[] {
  const values = new Map(added.map(({ name, value }) => [name, value]))
  const kept = rows
    .filter(({ name, value }) => name !== '' || value !== '')
    .map(row => ({ name: row.name, value: values.get(row.name) ?? row.value }))
  const names = new Set(kept.map(({ name }) => name))
  return [...kept, ...added.filter(({ name }) => !names.has(name))]
}
