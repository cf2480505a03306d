import {
  type ImageDefaults,
  type ImageDefaultsSpec,
  type SessionSpec,
  type SessionTemplate,
  type User,
} from '#manager/contract'
import { type World } from './console-double-world.ts'

interface Answer {
  readonly status: number
  readonly value: unknown
}

/** Templates, defaults of images, and users that an admin searches for. @returns undefined for a route that is not about that */
export function answerLaunch(world: World, route: string, url: URL, body: unknown): Answer | undefined {
  if (route === 'GET /api/v1/session-templates') return { status: 200, value: { items: world.templates ?? [] } }
  if (route.endsWith(' /api/v1/me/image-defaults')) return answerDefaults(world, route, url, body)
  if (route === 'GET /api/v1/users') {
    const text = url.searchParams.get('search') ?? ''
    const items = (world.users ?? []).filter(({ email, name }) => `${email} ${name}`.includes(text))
    return { status: 200, value: { items, nextCursor: null } }
  }
  const asDefault = /^PUT \/api\/v1\/session-templates\/(.+)\/default$/.exec(route)
  if (asDefault) {
    const { isDefault } = body as { isDefault: boolean }
    const chosen = decodeURIComponent(asDefault[1] ?? '')
    world.templates = world.templates?.map(each => ({ ...each, isDefault: isDefault && each.name === chosen })) ?? []
    return { status: 200, value: world.templates.find(each => each.name === chosen) }
  }
  const found = /^(PUT|DELETE) \/api\/v1\/session-templates\/(.+)$/.exec(route)
  if (!found) return undefined
  const name = decodeURIComponent(found[2] ?? '')
  const others = (world.templates ?? []).filter(template => template.name !== name)
  if (found[1] === 'DELETE') {
    world.templates = others
    return { status: 204, value: undefined }
  }
  const saved = aTemplate(name, body as SessionSpec)
  world.templates = [...others, saved]
  return { status: 200, value: saved }
}

function answerDefaults(world: World, route: string, url: URL, body: unknown): Answer {
  const known = world.imageDefaults ?? []
  if (route.startsWith('GET')) return { status: 200, value: { items: known } }
  const image = route.startsWith('PUT') ? (body as ImageDefaultsSpec).image : url.searchParams.get('image')
  world.imageDefaults = known.filter(each => each.image !== image)
  if (route.startsWith('DELETE')) return { status: 204, value: undefined }
  const saved: ImageDefaults = { ...(body as ImageDefaultsSpec), changedAt: SAVED }
  world.imageDefaults.push(saved)
  return { status: 200, value: saved }
}

const SAVED = '2026-11-02T09:00:00.000Z'
export const aTemplate = (name: string, spec: Partial<SessionSpec> = {}): SessionTemplate => ({
  name,
  spec: {
    image: 'berth/pytorch:2.9-cuda13',
    resources: { cpu: '4', mem: '17179869184' },
    environ: {},
    count: 1,
    resourceGroup: 'default',
    ...spec,
  },
  isDefault: false,
  createdAt: SAVED,
  updatedAt: SAVED,
})

export const aUser = (change: Partial<User> = {}): User => ({
  id: '01990000-0000-7000-8000-0000000000d1' as User['id'],
  email: 'jonas@example.com',
  name: 'Jonas Lindqvist',
  description: '',
  mustChangePassword: false,
  passwordFrom: 'person',
  role: 'user',
  domain: 'default',
  groups: [],
  active: true,
  emailVerified: true,
  secondFactor: false,
  resourcePolicy: 'default',
  createdAt: SAVED,
  ...change,
})
