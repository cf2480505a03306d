import { type Me, type UserId } from '#manager/contract'

/** A signed-in person, for tests. */
export const aMe = (id: UserId): Me => ({
  user: {
    id,
    email: `${id}@example.com`,
    name: 'Mira',
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
    createdAt: '2026-11-20T12:00:00.000Z',
  },
  expiresAt: '2026-11-27T12:00:00.000Z',
})
