import {
  lackingSlots,
  parseSlots,
  SLOT_NAMES,
  SLOTS,
  type Resources,
  type ResourceSlots,
  type SlotName,
} from '#manager/contract'
import { amountText } from './amount-text.ts'
import { isKnown } from './launch-form.ts'

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
  /** Connected agents that hold the image. */
  readonly holders: number
}

/** Predicts what happens after "Launch" from what the page knows. The scheduler decides later, by what is free then. */
export function forecast({ requested, count, resources, largest, free, holders }: Situation): Forecast {
  if (!resources || Object.values(requested).some(Number.isNaN)) return { kind: 'unknown', text: '' }
  if (resources.agents.connected === 0 || !isKnown(largest)) {
    return {
      kind: 'waits',
      text: 'Will be queued: no host is connected. The session starts as soon as one has room for it.',
    }
  }
  const [tooLarge] = lackingSlots(requested, largest)
  if (tooLarge) {
    const has = amountText(tooLarge, largest[tooLarge] ?? 0)
    return { kind: 'never', text: `Cannot start: the largest host has ${has}.` }
  }
  const limit = limitText(requested, resources)
  if (limit) return { kind: 'waits', text: `Will be queued: ${limit}` }
  const waiting = resources.sessions.pending
  const queue = waiting > 0 ? ` ${waiting} ${waiting === 1 ? 'session is' : 'sessions are'} waiting already.` : ''
  const lacking = lackingSlots(requested, free)
  if (lacking.length > 0) {
    const words = lacking.map(slot => {
      const missing = (requested[slot] ?? 0) - Math.max(0, free[slot] ?? 0)
      return `${amountText(slot, missing)} more`
    })
    return { kind: 'waits', text: `Will be queued until there is ${words.join(' and ')}.${queue}` }
  }
  const pull = holders === 0 ? ' The image is pulled first.' : ''
  const start = count > 1 ? 'The first starts now, the others when there is room.' : 'Starts now.'
  return { kind: 'now', text: `${start}${pull}` }
}

function limitText(requested: ResourceSlots, { left, sessionsLeft }: Resources): string {
  if (sessionsLeft === 0) return 'you have reached your limit of running sessions.'
  const limits = parseSlots(left)
  const over = SLOT_NAMES.find(slot => (requested[slot] ?? 0) > (limits[slot] ?? Infinity))
  return over ? `your limits leave ${leftText(over, limits[over] ?? 0)}.` : ''
}

/** Like `amountText`, for the rest of a limit: `6 CPU cores`, `no GPU`. */
export function leftText(slot: SlotName, amount: number): string {
  return amount > 0 ? amountText(slot, amount) : `no ${SLOTS[slot].label}`
}

/**
 * A sentence on what the user's limits leave, if the limits and not the agents set the maximum of a field.
 *
 * @returns empty if the agents set the maximum, or there is no limit
 */
export function quotaNote(slot: SlotName, largest: ResourceSlots, left: ResourceSlots): string {
  const limit = left[slot]
  if (limit === undefined || limit >= (largest[slot] ?? 0)) return ''
  return `Your limits leave ${leftText(slot, Math.max(0, limit))} for now`
}

/** Text of the number of sessions that the user may still start; empty if there is no limit. */
export function sessionsLeftText(sessionsLeft: number | null): string {
  if (sessionsLeft === null) return ''
  if (sessionsLeft <= 0) return 'Session limit reached: a new session waits until one of yours ends'
  return `${sessionsLeft} ${sessionsLeft === 1 ? 'session' : 'sessions'} left`
}

/** Says whether parts of a GPU are enforced: a part must not look like more than it is. */
export function partsText(partsHold: Resources['partsHold']): string {
  const one = '1.00 is one whole GPU.'
  if (partsHold === 'enforced') return `${one} Memory limits are enforced: no session can use more than its share.`
  return `${one} Memory limits are not enforced: other sessions on the GPU could use more memory than their share.`
}
