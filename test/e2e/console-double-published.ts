import { type PublishedApp, PublishedAppId, type Publishing, type PublishSpec, type Session } from '#manager/contract'
import { newId } from '../../manager/store/new-id.ts'

/** Links to apps for people without an account. */
export interface PublishedWorld {
  published?: { items: PublishedApp[]; publishing: Publishing }
}

const OFF: Publishing = { on: false, maxHours: 168, ports: null }

/** Makes a link to an app of the session. */
export function publish(
  world: PublishedWorld,
  session: Session,
  route: string,
  spec: Partial<PublishSpec>,
): PublishedApp {
  const name = /\/apps\/([^/]+)\/published$/.exec(route)?.[1] ?? ''
  const made: PublishedApp = {
    id: newId(PublishedAppId),
    sessionId: session.id,
    sessionName: session.name,
    app: name,
    title: session.apps.find(app => app.name === name)?.title ?? name,
    ownerId: session.ownerId,
    owner: session.ownerEmail,
    url: `https://made.apps.example.org/_berth/open?key=${'n'.repeat(43)}`,
    port: spec.port ?? null,
    hasPassword: spec.password !== undefined,
    addresses: spec.addresses ?? [],
    createdAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + (spec.hours ?? 1) * 3600_000).toISOString(),
    visits: 0,
    lastVisitAt: null,
  }
  const { items = [], publishing = OFF } = world.published ?? {}
  world.published = { items: [made, ...items], publishing }
  return made
}

/** Answers calls about links; undefined for all others. */
export function answerPublished(world: PublishedWorld, route: string): { status: number; value: unknown } | undefined {
  const published = world.published ?? { items: [], publishing: OFF }
  if (route === 'GET /api/v1/published-apps') return { status: 200, value: published }
  const ended = /^DELETE \/api\/v1\/published-apps\/(.+)$/.exec(route)?.[1]
  if (ended === undefined) return undefined
  world.published = { ...published, items: published.items.filter(({ id }) => id !== ended) }
  return { status: 200, value: { connections: 0 } }
}
