/** SQLSTATE 23503: something refers to the row, or the row refers to something that is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23503'
}
