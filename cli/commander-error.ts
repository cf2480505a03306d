/** An error of commander, by its shape: `berth stdio` runs without commander. */
export function isCommanderError(error: unknown): error is Error & { readonly exitCode: number } {
  return error instanceof Error && error.name === 'CommanderError' && 'exitCode' in error
}
