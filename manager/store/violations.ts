/**
 * SQLSTATE 23503: something refers to the row, or the row refers to something that is not there.
 * @param constraint only of this one; PostgreSQL names it `TABLE_COLUMN_fkey`
 */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23503', constraint)
}

/** SQLSTATE 23505: there is such a row already. @param constraint only of this unique index */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23505', constraint)
}

function isViolation(error: unknown, sqlState: string, constraint: string | undefined): boolean {
  if (!(error instanceof Error && 'code' in error && error.code === sqlState)) return false
  return constraint === undefined || ('constraint' in error && error.constraint === constraint)
}
