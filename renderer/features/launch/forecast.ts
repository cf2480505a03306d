import { lackingSlots, SLOTS, type Resources, type ResourceSlots, type SlotName } from '#manager/contract'
import { formatBytes } from '../../ui/format.ts'

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

/** What happens after "Launch", as far as it can be known before: the scheduler decides with what is free then. */
export function forecast({ requested, count, resources, largest, free, holders }: Situation): Forecast {
  if (!resources) return { kind: 'unknown', text: '' }
  if (resources.agents.connected === 0) {
    return { kind: 'waits', text: 'Will wait: no agent is connected. It starts as soon as one is.' }
  }
  const [tooLarge] = lackingSlots(requested, largest)
  if (tooLarge) {
    const has = amountText(tooLarge, largest[tooLarge] ?? 0)
    return { kind: 'never', text: `Cannot start: the largest agent has ${has}.` }
  }
  const waiting = resources.sessions.pending
  const queue = waiting > 0 ? ` ${waiting} ${waiting === 1 ? 'session is' : 'sessions are'} waiting already.` : ''
  const lacking = lackingSlots(requested, free)
  if (lacking.length > 0) {
    const words = lacking.map(slot => {
      const missing = (requested[slot] ?? 0) - Math.max(0, free[slot] ?? 0)
      return `${amountText(slot, missing)} more`
    })
    return { kind: 'waits', text: `Will wait for ${words.join(' and ')} to become free.${queue}` }
  }
  const pull = holders === 0 ? ' The image is pulled first.' : ''
  const start = count > 1 ? 'The first starts now, the others as there is room.' : 'Starts now.'
  return { kind: 'now', text: `${start}${pull}` }
}

export function amountText(slot: SlotName, amount: number): string {
  if (slot === 'mem') return `${formatBytes(amount)} RAM`
  const value = (amount / SLOTS[slot].base).toLocaleString(undefined, { maximumFractionDigits: 2 })
  if (slot === 'cpu') return `${value} CPU ${amount === 1000 ? 'core' : 'cores'}`
  return slot === 'cuda.shares' ? `${value} fGPU` : `${value} ${amount === 1 ? 'GPU' : 'GPUs'}`
}
