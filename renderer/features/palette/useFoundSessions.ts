import { onScopeDispose, shallowRef, watch, type Ref } from 'vue'
import { type Session } from '#manager/contract'
import { useServices } from '../../services.ts'
import { logError } from '../../ui/error-log.ts'

/** Time without a key press after which the server is asked. */
const PAUSE_MS = 250
const LEAST_LETTERS = 2
const MOST = 10

/** The newest finished sessions that the server finds by the typed text; the live ones are all on the page. */
export function useFoundSessions(text: Readonly<Ref<string>>) {
  const { api } = useServices()
  const found = shallowRef<readonly Session[]>([])
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = new AbortController()

  async function ask(search: string): Promise<void> {
    const { signal } = asked
    const { items } = await api.listSessions({ query: { status: 'finished', search, limit: MOST }, signal })
    if (!signal.aborted) found.value = items
  }
  function stop(): void {
    clearTimeout(timer)
    asked.abort()
  }
  watch(text, typed => {
    stop()
    asked = new AbortController()
    const search = typed.trim()
    if (search.length < LEAST_LETTERS) found.value = []
    // A failure costs only these hits.
    else timer = setTimeout(() => void ask(search).catch(logError), PAUSE_MS)
  })
  onScopeDispose(stop)
  return found
}
