import { computed, ref, type UnwrapNestedRefs } from 'vue'
import { type App, type PublishedApp, type PublishedAppId, type PublishSpec, type SessionId } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

export type Published = UnwrapNestedRefs<ReturnType<typeof usePublished>>

/** The open links of a session, or all that the person may see. */
export function usePublished(sessionId?: SessionId) {
  const { api } = useServices()
  const {
    value,
    error,
    loading,
    again: load,
    put,
  } = useFetched({
    fetch: (_, signal) =>
      api.listPublishedApps({ query: sessionId === undefined ? {} : { session: sessionId }, signal }),
    atOnce: false,
  })
  const links = computed(() => value.value?.items ?? [])
  const publishing = computed(() => value.value?.publishing ?? null)
  /** Whether apps may be opened to the public, or already are. */
  const isOffered = computed(() => publishing.value !== null && (publishing.value.on || links.value.length > 0))
  const ending = ref(new Set<PublishedAppId>())
  function putLinks(items: PublishedApp[]): void {
    if (value.value) put({ ...value.value, items })
  }

  /** @throws AppError of the manager */
  async function publish(id: SessionId, app: App, spec: PublishSpec): Promise<PublishedApp> {
    const made = await api.publishApp({ params: { id, app: app.name }, body: spec })
    putLinks([made, ...links.value])
    return made
  }

  /** Ends a link. @returns how many connections of visitors ended @throws AppError of the manager; the link then stays listed */
  async function end(id: PublishedAppId): Promise<number> {
    ending.value.add(id)
    try {
      const { connections } = await api.unpublishApp({ params: { publishedId: id } })
      putLinks(links.value.filter(link => link.id !== id))
      return connections
    } finally {
      ending.value.delete(id)
    }
  }

  return { links, publishing, isOffered, error, loading, ending, load, publish, end }
}
