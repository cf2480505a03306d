import { parseSlots, SLOT_NAMES, type ScopeUsage } from '#manager/contract'
import { t } from './words.ts'
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
    amounts.push(t('sessionsLeft', { count: Math.max(0, scope.maxSessions - scope.sessions) }))
  }
  return amounts.length === 0 ? t('noLimits') : t('left', { amounts: amounts.join(', ') })
}
