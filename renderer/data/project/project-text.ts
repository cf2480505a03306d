import { parseSlots, type Resources, type ResourceSlots, SLOT_NAMES, type ScopeUsage } from '#manager/contract'
import { t } from '../../words/en/project.ts'
import { SLOT_LABEL, slotAmount } from '../usage/usage-text.ts'

/** Amounts that the limits of a project leave: `Left: 4 CPU, 2 GPU, 3 sessions`. */
export function leftText(scope: ScopeUsage | undefined): string {
  if (!scope) return ''
  const amounts = amountsOf(parseSlots(scope.left))
  if (scope.maxSessions !== null) {
    amounts.push(t('sessionsLeft', { count: Math.max(0, scope.maxSessions - scope.sessions) }))
  }
  return amounts.length === 0 ? t('noLimits') : t('left', { amounts: amounts.join(', ') })
}

/** Free capacity of a resource group now, on all its agents together: `Free now: 12 CPU, 2 GPU`. Empty until it is known. */
export function freeText(figures: Resources | undefined): string {
  if (!figures) return ''
  if (figures.agents.connected === 0) return t('noHost')
  const [capacity, occupied] = [parseSlots(figures.capacity), parseSlots(figures.occupied)]
  const free = Object.fromEntries(
    SLOT_NAMES.flatMap(slot => {
      const all = capacity[slot]
      return all === undefined ? [] : [[slot, Math.max(0, all - (occupied[slot] ?? 0))]]
    }),
  ) as ResourceSlots
  return t('freeNow', { amounts: amountsOf(free).join(', ') })
}

function amountsOf(slots: ResourceSlots): string[] {
  return SLOT_NAMES.flatMap(slot => {
    const amount = slots[slot]
    return amount === undefined ? [] : [`${slotAmount(slot, amount)} ${SLOT_LABEL[slot]}`]
  })
}
