/** Ignores that a file is not there; for `.catch()`. @throws every other error */
export function unlessMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}
