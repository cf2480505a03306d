import { ref } from 'vue'
import {
  type App,
  type PublishedApp,
  type PublishedAppId,
  type Publishing,
  type PublishSpec,
  type SessionId,
} from '#manager/contract'
import { useServices } from '../../services.ts'

/** The open links of a session, or all that the person may see. */
export function usePublished(sessionId?: SessionId) {
  const { api } = useServices()
  const links = ref<PublishedApp[]>([])
  const publishing = ref<Publishing | null>(null)
  const error = ref<unknown>(null)
  const ending = ref(new Set<PublishedAppId>())
  let round = 0

  async function load(): Promise<void> {
    const asked = ++round
    try {
      const reply = await api.listPublishedApps({ query: sessionId === undefined ? {} : { session: sessionId } })
      if (asked !== round) return
      links.value = reply.items
      publishing.value = reply.publishing
      error.value = null
    } catch (cause) {
      if (asked === round) error.value = cause
    }
  }

  /** @throws AppError of the manager */
  async function publish(id: SessionId, app: App, spec: PublishSpec): Promise<PublishedApp> {
    const made = await api.publishApp({ params: { id, app: app.name }, body: spec })
    round += 1 // an older answer of `load` does not have it
    links.value = [made, ...links.value]
    return made
  }

  /** Ends a link. @throws AppError of the manager; the link then stays listed */
  async function end(id: PublishedAppId): Promise<void> {
    ending.value.add(id)
    try {
      await api.unpublishApp({ params: { publishedId: id } })
      round += 1
      links.value = links.value.filter(link => link.id !== id)
    } finally {
      ending.value.delete(id)
    }
  }

  return { links, publishing, error, ending, load, publish, end }
}
