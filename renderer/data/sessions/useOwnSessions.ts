import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useSessions } from './useSessions.ts'

export interface OwnList {
  readonly status: 'idle' | 'loading' | 'ready' | 'failed'
  readonly error: unknown
}

/** Ended sessions that the summary looks at: more than anybody reads in its list and in the news. */
const MOST_FINISHED = 100
const MOST_LIVE = 500

/**
 * The person's own sessions, for the summary. The lists of the sessions page have those of everybody whom an administrator may see,
 * page by page: the person's own may be on a page that is not loaded. The sessions themselves are in `useSessions`, which hints keep
 * current.
 */
export const useOwnSessions = defineStore('own-sessions', () => {
  const { api, events } = useServices()
  const sessions = useSessions()
  const account = useAccount()
  const live = computed(() => sessions.live.filter(session => account.owns(session)))
  const finished = computed(() => sessions.finished.filter(session => account.owns(session)))
  const inProject = (id: string) => live.value.filter(({ group }) => group?.id === id)
  const list = ref<OwnList>({ status: 'idle', error: null })
  let round = 0

  async function fetchAll(): Promise<void> {
    const asked = ++round
    try {
      const answers = await Promise.all([
        api.listSessions({ query: { status: 'live', mine: 'true', limit: MOST_LIVE } }),
        api.listSessions({ query: { status: 'finished', mine: 'true', limit: MOST_FINISHED } }),
      ])
      if (asked !== round) return
      sessions.put(answers.flatMap(({ items }) => items))
      list.value = { status: 'ready', error: null }
    } catch (error) {
      if (asked === round && list.value.status !== 'ready') list.value = { status: 'failed', error }
    }
  }
  /** Fetches the sessions unless they are loaded: hints keep them current. */
  async function load(): Promise<void> {
    if (list.value.status === 'ready') return
    list.value = { status: 'loading', error: null }
    await fetchAll()
  }
  events.onResync(() => {
    if (list.value.status === 'ready') void fetchAll()
  })
  return { list, live, finished, inProject, load }
})
