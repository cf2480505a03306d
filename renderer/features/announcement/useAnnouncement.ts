import { defineStore } from 'pinia'
import { computed, shallowRef } from 'vue'
import { type Announcement } from '#manager/contract'
import { useServices } from '../../services.ts'

/** An announcement that the page shows. */
export type ShownAnnouncement = Announcement & { readonly id: string; readonly text: string }

/** Shortest time in milliseconds between two looks at an announcement that is about to change: the clocks may differ. */
const AGAIN_MS = 5_000
/** Longest time in milliseconds that a timer is set to; it is set again after that. */
const LONGEST_MS = 24 * 3_600_000

/** The announcement of the administrators, kept current by event hints and by the times of its period. */
export const useAnnouncement = defineStore('announcement', () => {
  const { api, events } = useServices()
  const answer = shallowRef<Announcement | null>(null)
  let round = 0
  let hasBegun = false
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Null until it is known, while there is none, and once the person has dismissed it. */
  const shown = computed((): ShownAnnouncement | null => {
    const { id, text, dismissed } = answer.value ?? {}
    if (!answer.value || typeof id !== 'string' || typeof text !== 'string' || dismissed === true) return null
    return { ...answer.value, id, text }
  })

  async function load(): Promise<void> {
    const asked = ++round
    // The page works without an announcement. A failure of the manager is shown by the parts that need its answers.
    const next = await api.getAnnouncement().catch(() => null)
    if (asked !== round || !next) return
    answer.value = next
    clearTimeout(timer)
    if (next.changesAt === null) return
    const left = Date.parse(next.changesAt) - Date.now()
    timer = setTimeout(() => void load(), Math.min(Math.max(left, AGAIN_MS), LONGEST_MS))
  }
  function begin(): void {
    if (hasBegun) return
    hasBegun = true
    void load()
  }
  const again = () => {
    if (hasBegun) void load()
  }
  events.onHint(({ topic }) => {
    if (topic === 'announcement') again()
  })
  events.onResync(again)

  /** Hides the announcement from this person, on all their computers. @throws as the route */
  async function dismiss({ id }: ShownAnnouncement): Promise<void> {
    const before = answer.value
    answer.value = before && { ...before, dismissed: true }
    try {
      await api.dismissAnnouncement({ body: { id } })
    } catch (error) {
      if (answer.value?.id === id) answer.value = before
      throw error
    }
  }
  function clear(): void {
    round += 1
    hasBegun = false
    answer.value = null
    clearTimeout(timer)
  }
  return { shown, begin, dismiss, clear }
})
