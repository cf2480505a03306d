import {
  addSlots,
  OCCUPYING_STATUSES,
  parseSlots,
  SLOT_NAMES,
  type ResourceSlots,
  type Session,
} from '#manager/contract'
import { formatNumber } from '../../ui/format.ts'
import { slotAmount } from './usage-text.ts'

/** Amounts held by these sessions, by the keys of the meters of a scope. The person's own sessions of a project are their share of it. */
export function shareOf(
  sessions: readonly Pick<Session, 'status' | 'requested' | 'clusterSize'>[],
): ReadonlyMap<string, string> {
  const statuses: readonly string[] = OCCUPYING_STATUSES
  const holding = sessions.filter(({ status }) => statuses.includes(status))
  let held: ResourceSlots = {}
  for (const { requested, clusterSize } of holding)
    for (let kernel = 0; kernel < clusterSize; kernel++) held = addSlots(held, parseSlots(requested))
  return new Map([
    ['sessions', formatNumber(holding.length)],
    ...SLOT_NAMES.map(slot => [slot, slotAmount(slot, held[slot] ?? 0)] as const),
  ])
}
