/**
 * Takes steps one after the other, all of them: one that fails keeps no later one from its turn.
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
