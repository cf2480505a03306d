import {
  lackingSlots,
  parseSlots,
  SLOT_NAMES,
  SLOTS,
  type Resources,
  type ResourceSlots,
  type SlotName,
} from '#manager/contract'
import { formatBytes, formatList } from '../../ui/format.ts'
import { amountText } from './amount-text.ts'
import { isKnown } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

export interface Forecast {
  readonly kind: 'now' | 'waits' | 'never' | 'unknown'
  readonly text: string
}

interface Situation {
  readonly requested: ResourceSlots
  readonly count: number
  readonly resources: Resources | null
  readonly largest: ResourceSlots
  readonly free: ResourceSlots
  /** Number of connected agents that hold the image. */
  readonly holders: number
}

/** Predicts what happens after "Launch" from the data on the page. The scheduler decides later, by the capacity that is free then. */
export function forecast({ requested, count, resources, largest, free, holders }: Situation): Forecast {
  if (!resources || Object.values(requested).some(Number.isNaN)) return { kind: 'unknown', text: '' }
  if (resources.agents.connected === 0 || !isKnown(largest)) {
    return { kind: 'waits', text: t('queuedNoHost') }
  }
  const [tooLarge] = lackingSlots(requested, largest)
  if (tooLarge) {
    return { kind: 'never', text: t('tooLarge', { amount: amountText(tooLarge, largest[tooLarge] ?? 0) }) }
  }
  const limit = limitText(requested, resources)
  if (limit) return { kind: 'waits', text: t('queuedFor', { why: limit }) }
  const waiting = resources.sessions.pending
  const lacking = lackingSlots(requested, free)
  if (lacking.length > 0) {
    const words = lacking.map(slot => {
      const missing = (requested[slot] ?? 0) - Math.max(0, free[slot] ?? 0)
      return t('moreOf', { amount: amountText(slot, missing) })
    })
    const until = t('queuedUntil', { amounts: formatList(words) })
    return { kind: 'waits', text: waiting > 0 ? `${until} ${t('waitingAlready', { count: waiting })}` : until }
  }
  return { kind: 'now', text: startText(count, holders === 0) }
}

/** `Starts now. The image is pulled first.` */
export function startText(count: number, pulled: boolean): string {
  const start = t(count > 1 ? 'firstNow' : 'startsNow')
  return pulled ? `${start} ${t('pulledFirst')}` : start
}

function limitText(requested: ResourceSlots, { left, sessionsLeft }: Resources): string {
  if (sessionsLeft === 0) return t('limitReached')
  const limits = parseSlots(left)
  const over = SLOT_NAMES.find(slot => (requested[slot] ?? 0) > (limits[slot] ?? Infinity))
  return over ? t('limitsLeave', { amount: leftText(over, limits[over] ?? 0) }) : ''
}

/** Like `amountText`, for the remaining amount of a limit: `6 CPU cores`, `no GPU`. */
export function leftText(slot: SlotName, amount: number): string {
  return amount > 0 ? amountText(slot, amount) : t('leftNothing', { slot: SLOTS[slot].label })
}

/**
 * Sentence about what the user's limits leave, if they set the maximum of a field. @returns empty if the agents set the maximum, or there
 * is no limit
 */
export function quotaNote(slot: SlotName, largest: ResourceSlots, left: ResourceSlots): string {
  const limit = left[slot]
  if (limit === undefined || limit >= (largest[slot] ?? 0)) return ''
  return t('quotaNote', { amount: leftText(slot, Math.max(0, limit)) })
}

/** Text of the number of sessions that the user may still start; empty if there is no limit. */
export function sessionsLeftText(sessionsLeft: number | null): string {
  if (sessionsLeft === null) return ''
  if (sessionsLeft <= 0) return t('noSessionsLeft')
  return t('sessionsLeft', { count: sessionsLeft })
}

/** Texts about parts of GPUs before and after a share was chosen, by how memory limits work. */
const PARTS = {
  enforced: ['partsEnforced', 'shareEnforced'],
  guarded: ['partsGuarded', 'shareGuarded'],
  accounted: ['partsNotEnforced', 'shareAdvice'],
} as const

/** Says what a part of a GPU is in memory, and whether that is enforced: a part must not look like more than it is. @param shares in hundredths */
export function partsText(
  shares: number,
  { partsHold, sharedGpus }: Pick<Resources, 'partsHold' | 'sharedGpus'>,
): string {
  const [ofParts, ofShare] = PARTS[partsHold ?? 'accounted']
  const models = sharedGpus.slice(0, MOST_MODELS)
  if (!(shares > 0) || models.length === 0) return t(ofParts)
  const memory = models.map(({ model, memBytes }) =>
    t('shareOf', {
      model,
      amount: formatBytes((memBytes * shares) / SLOTS['cuda.shares'].base),
      total: formatBytes(memBytes),
    }),
  )
  return `${memory.join(' ')} ${t(ofShare)}`
}

/** Models that are named; the rest has less memory. */
const MOST_MODELS = 3
