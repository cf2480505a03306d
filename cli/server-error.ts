import { AppError, isErrorCode } from '#manager/contract'

/**
 * The error that a server of ours prints on standard output where it cannot start or go on:
 * `{"error":{"code","message","detail"}}`.
 * @returns undefined for every other line
 */
export function serverError(line: string): AppError | undefined {
  const { error } = (parse(line) ?? {}) as { error?: { code?: unknown; detail?: Readonly<Record<string, unknown>> } }
  return error && new AppError(isErrorCode(error.code) ? error.code : 'internal', error.detail)
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined // something that a person is to read
  }
}
