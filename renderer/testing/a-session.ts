import { type Session } from '#manager/contract'

export const OWNER = '01990000-0000-7000-8000-000000000001' as Session['ownerId']
export const idOf = (index: number) => `0199a000-0000-7000-8000-${String(index).padStart(12, '0')}` as Session['id']

/** A running session for tests; a higher index is newer. */
export function aSession(index: number, change: Partial<Session> = {}): Session {
  const at = new Date(Date.UTC(2026, 10, 1) + index * 60_000).toISOString()
  return {
    id: idOf(index),
    name: `session-${index}`,
    status: 'RUNNING',
    reason: { code: 'started', message: 'Started' },
    queuePosition: null,
    reachable: true,
    ownerId: OWNER,
    ownerEmail: 'mira@example.com',
    sharedAs: null,
    sharedWith: 0,
    tags: [],
    note: '',
    domain: 'default',
    group: null,
    resourceGroup: 'default',
    image: 'berth/python:3.13',
    imageDigest: null,
    requested: { cpu: '1', mem: '1g' },
    clusterSize: 1,
    priority: 0,
    interruptible: false,
    interruptAt: null,
    interruptions: 0,
    dependsOn: [],
    folders: [],
    foldersFixed: null,
    shmem: '64m',
    environ: {},
    startupCommand: null,
    runImageCommand: false,
    startsAt: null,
    kind: 'interactive',
    result: null,
    idleTimeoutSeconds: null,
    maxLifetimeSeconds: null,
    expiresAt: null,
    ends: null,
    usage: null,
    apps: [],
    kernels: [],
    stats: null,
    pull: null,
    createdAt: at,
    startedAt: at,
    endedAt: null,
    version: 1,
    ...change,
  }
}
