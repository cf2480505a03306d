import { dirname, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { AppError } from '#manager/contract'
import { locate } from './locate.ts'
import { type ServerName, type Setting, SETTINGS } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Contents of a berth.toml. */
export interface Settings {
  /** Undefined if there is no file. */
  readonly file: string | undefined
  /** Values by key, as text for an environment variable. */
  readonly values: ReadonlyMap<string, string>
}

export const NO_SETTINGS: Settings = { file: undefined, values: new Map() }

/** @throws AppError `config_invalid`, one line per fault: file, line and column, key, and what is allowed */
export function parseSettings(document: string, file: string): Settings {
  const at = ({ line, column }: { line: number; column: number }) => `${file}:${line}:${column}`
  const faults: string[] = []
  const values = new Map<string, string>()

  const take = (setting: Setting, value: unknown, path: readonly string[]) => {
    const read = setting.schema.safeParse(value)
    if (read.success) values.set(setting.key, toText(setting, read.data, file))
    else faults.push(`${at(locate(document, path))}: ${setting.key} must be ${setting.allowed}`)
  }
  const visit = (table: object, path: readonly string[]) => {
    for (const [name, value] of Object.entries(table) as [string, unknown][]) {
      const here = [...path, name]
      const key = here.join('.')
      const setting = SETTINGS.find(one => one.key === key)
      if (setting) take(setting, value, here)
      else if (!SETTINGS.some(one => one.key.startsWith(`${key}.`)))
        faults.push(`${at(locate(document, here))}: ${key} is not known; allowed ${allowedIn(path)}`)
      else if (isTable(value)) visit(value, here)
      else faults.push(`${at(locate(document, here))}: ${key} must be a table; allowed ${allowedIn(here)}`)
    }
  }
  try {
    visit(parse(document), [])
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [first = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw new AppError('config_invalid', { why: `${at(error)}: this is not TOML: ${first}` }, { cause: error })
  }
  if (faults.length > 0) throw new AppError('config_invalid', { why: faults.join('\n') })
  return { file, values }
}

/**
 * Environment variables that a server gets from the file. A variable that is already set takes precedence: it is left out.
 */
export function environmentOf(settings: Settings, server: ServerName, env: Environment): Record<string, string> {
  return Object.fromEntries(
    SETTINGS.flatMap(({ key, variable, servers }) => {
      const value = settings.values.get(key)
      return value === undefined || !servers.includes(server) || env[variable] ? [] : [[variable, value]]
    }),
  )
}

function toText({ isPath = false, isJson = false }: Setting, value: unknown, file: string): string {
  if (isJson) return JSON.stringify(value)
  if (isPath) return resolve(dirname(file), String(value))
  return Array.isArray(value) ? value.join(',') : String(value)
}

function allowedIn(path: readonly string[]): string {
  const prefix = path.length === 0 ? '' : `${path.join('.')}.`
  const names = SETTINGS.flatMap(({ key }) => (key.startsWith(prefix) ? [key.slice(prefix.length).split('.')[0]] : []))
  return `${path.length === 0 ? 'at the top' : `in [${path.join('.')}]`}: ${[...new Set(names)].join(', ')}`
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
