import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AppError } from '#manager/contract'
import { withLoopback } from '#proxy/listen-at'
import { NO_SETTINGS, parseSettings, type Settings } from './parse.ts'

/**
 * Reads the settings of a data directory: DATA/berth.toml if it exists, or the named file, which must exist.
 *
 * @throws AppError `config_invalid`
 */
export async function readSettings(data: string, named?: string): Promise<Settings> {
  const file = named === undefined ? join(data, 'berth.toml') : resolve(named)
  let document: string
  try {
    document = await readFile(file, 'utf8')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (isMissing && named === undefined) return NO_SETTINGS
    const why = `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
    throw new AppError('config_invalid', { why }, { cause: error })
  }
  return parseSettings(document, file)
}

const DEFAULT_PORT = 8400

/** Console port: the flag, else BERTH_PORT, else the file, else 8400. @throws AppError `config_invalid` */
export function consolePortOf(settings: Settings, flag: number | undefined, env = process.env): number {
  return chosenConsolePort(settings, flag, env) ?? DEFAULT_PORT
}

/** Console port that somebody has chosen. @throws AppError `config_invalid` */
export function chosenConsolePort(settings: Settings, flag: number | undefined, env = process.env): number | undefined {
  if (flag !== undefined) return flag
  const text = env.BERTH_PORT || settings.values.get('console.port')
  if (text === undefined) return undefined
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new AppError('config_invalid', {
      why: `BERTH_PORT is "${text}"; the value must be a number from 0 to 65535.`,
    })
  return port
}

/** Hosts of this computer that nobody else reaches. */
export const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/** Addresses that the console listens at: BERTH_HOST or that of the file, and always loopback, to which its links lead. */
export function consoleHostsOf(settings: Settings, env = process.env): readonly string[] {
  const host = env.BERTH_HOST || settings.values.get('console.host')
  return withLoopback(host === undefined || LOOPBACK.has(host) ? undefined : host)
}

/** DATABASE_URL, else the URL in the file. */
export function databaseUrlOf(settings: Settings, env = process.env): string | undefined {
  return env.DATABASE_URL || settings.values.get('manager.databaseUrl')
}
