import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { parseJson } from '#base/parse-json'
import { type Announcement } from '#manager/contract'
import { serverNow } from '../../api/server-clock.ts'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

/** An announcement that the page shows. */
export type ShownAnnouncement = Announcement & { readonly id: string; readonly text: string }

/** Shortest time in milliseconds between two fetches of an announcement that is about to change: clocks may differ. */
const AGAIN_MS = 5_000
/** Longest time in milliseconds for one timer; it is then set again. */
const LONGEST_MS = 24 * 3_600_000

/** Record of the last known announcement, so that its bar is shown before the manager answers, and nothing moves afterwards. */
const KNOWN = 'berth.announcement'

function readKnown(): Announcement | null {
  const value = parseJson(globalThis.localStorage.getItem(KNOWN) ?? 'null')
  if (typeof value !== 'object' || value === null || !('id' in value) || !('text' in value) || !('level' in value))
    return null
  const isWhole = [value.id, value.text, value.level].every(part => typeof part === 'string')
  return isWhole ? (value as Announcement) : null
}

/** The announcement of the administrators, kept current by event hints and by the times of its period. */
export const useAnnouncement = defineStore('announcement', () => {
  const { api } = useServices()
  const {
    value: answer,
    again,
    put,
  } = useFetched({
    // The page works without an announcement. A failure of the manager is shown by the parts that need its answers.
    fetch: (_, signal) => api.getAnnouncement({ signal }),
    topics: ['announcement'],
    atOnce: false,
  })
  /** True once the manager has answered or failed. */
  const isKnown = ref(false)
  let hasBegun = false
  let timer: ReturnType<typeof setTimeout> | undefined
  onScopeDispose(() => clearTimeout(timer))

  /** Null until it is known, while there is none, and once the person has dismissed it. */
  const shown = computed((): ShownAnnouncement | null => {
    const { id, text, dismissed } = answer.value ?? {}
    if (!answer.value || typeof id !== 'string' || typeof text !== 'string' || dismissed === true) return null
    return { ...answer.value, id, text }
  })

  watch(
    answer,
    now => {
      if (shown.value === null) globalThis.localStorage.removeItem(KNOWN)
      else globalThis.localStorage.setItem(KNOWN, JSON.stringify(shown.value))
      clearTimeout(timer)
      if (!now || now.changesAt === null) return
      const left = Date.parse(now.changesAt) - serverNow().getTime()
      timer = setTimeout(() => void again(), Math.min(Math.max(left, AGAIN_MS), LONGEST_MS))
    },
    { flush: 'sync' },
  )
  async function begin(): Promise<void> {
    if (hasBegun) return
    hasBegun = true
    const known = readKnown()
    if (known) put(known)
    await again()
    isKnown.value = true
  }

  /** Hides the announcement from this person, on all their computers. @throws as the route */
  async function dismiss({ id }: ShownAnnouncement): Promise<void> {
    const before = answer.value
    if (before) put({ ...before, dismissed: true })
    try {
      await api.dismissAnnouncement({ body: { id } })
    } catch (error) {
      if (answer.value?.id === id && before?.id === id) put(before)
      throw error
    }
  }
  return { shown, isKnown, begin, dismiss }
})
