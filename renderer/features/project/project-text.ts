import { parseSlots, SLOT_NAMES, type ScopeUsage } from '#manager/contract'
import { SLOT_LABEL, slotAmount } from '../usage/usage-text.ts'

/** What is left of the limits of a project: `Left: 4 CPU, 2 GPU, 3 sessions`. */
export function leftText(scope: ScopeUsage | undefined): string {
  if (!scope) return ''
  const left = parseSlots(scope.left)
  const amounts = SLOT_NAMES.flatMap(slot => {
    const amount = left[slot]
    return amount === undefined ? [] : [`${slotAmount(slot, amount)} ${SLOT_LABEL[slot]}`]
  })
  if (scope.maxSessions !== null) {
    const sessions = Math.max(0, scope.maxSessions - scope.sessions)
    amounts.push(sessions === 1 ? '1 session' : `${sessions.toLocaleString()} sessions`)
  }
  return amounts.length === 0 ? 'No limits' : `Left: ${amounts.join(', ')}`
}
