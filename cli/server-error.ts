import { parseJson } from '#base/parse-json'
import { AppError, isErrorCode } from '#manager/contract'

/**
 * Parses the error that one of our servers prints on standard output if it cannot start or continue:
 * `{"error":{"code","message","detail"}}`.
 *
 * @returns undefined for every other line
 */
export function serverError(line: string): AppError | undefined {
  const { error } = (parseJson(line) ?? {}) as {
    error?: { code?: unknown; detail?: Readonly<Record<string, unknown>> }
  }
  return error && new AppError(isErrorCode(error.code) ? error.code : 'internal', error.detail)
}
