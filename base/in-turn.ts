/**
 * Runs all steps one after the other; the later ones run even if an earlier one fails.
 *
 * @throws the failure of the first step that failed, after the last step
 */
export async function inTurn(steps: Iterable<() => unknown>): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
