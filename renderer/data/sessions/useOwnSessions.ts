import { defineStore } from 'pinia'
import { computed } from 'vue'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useFetched } from '../fetched.ts'
import { useSessions } from './useSessions.ts'

export interface OwnList {
  readonly status: 'idle' | 'loading' | 'ready' | 'failed'
  readonly error: unknown
}

/** Largest number of ended sessions that the summary fetches: more than anybody reads there. */
const MOST_FINISHED = 100
const MOST_LIVE = 500

/**
 * The person's own sessions, for the summary. An administrator's lists on the sessions page also have sessions of others, page by page, so
 * the person's own may not be loaded there. The sessions themselves are in `useSessions`, which hints keep current.
 */
export const useOwnSessions = defineStore('own-sessions', () => {
  const { api } = useServices()
  const sessions = useSessions()
  const account = useAccount()
  const live = computed(() => sessions.live.filter(session => account.owns(session)))
  const finished = computed(() => sessions.finished.filter(session => account.owns(session)))
  const inProject = (id: string) => live.value.filter(({ group }) => group?.id === id)
  const all = useFetched({
    async fetch(_, signal) {
      const answers = await Promise.all([
        api.listSessions({ query: { status: 'live', mine: 'true', limit: MOST_LIVE }, signal }),
        api.listSessions({ query: { status: 'finished', mine: 'true', limit: MOST_FINISHED }, signal }),
      ])
      if (!signal.aborted) sessions.put(answers.flatMap(({ items }) => items))
      return true
    },
    topics: [],
    atOnce: false,
  })
  const list = computed((): OwnList => {
    if (all.value.value) return { status: 'ready', error: null }
    if (all.error.value !== null) return { status: 'failed', error: all.error.value }
    return { status: all.loading.value ? 'loading' : 'idle', error: null }
  })
  /** Fetches the sessions unless they are loaded: hints keep them current. */
  async function load(): Promise<void> {
    if (!all.value.value) await all.again()
  }
  return { list, live, finished, inProject, load }
})
