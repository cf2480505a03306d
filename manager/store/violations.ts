/**
 * SQLSTATE 23503: another row refers to the row, or the row refers to a row that does not exist.
 * @param constraint only violations of this constraint; PostgreSQL names it `TABLE_COLUMN_fkey`
 */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23503', constraint)
}

/** SQLSTATE 23505: the row exists already. @param constraint only violations of this unique index */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23505', constraint)
}

function isViolation(error: unknown, sqlState: string, constraint: string | undefined): boolean {
  if (!(error instanceof Error && 'code' in error && error.code === sqlState)) return false
  return constraint === undefined || ('constraint' in error && error.constraint === constraint)
}
