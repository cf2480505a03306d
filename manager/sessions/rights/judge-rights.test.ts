import { expect, test } from 'vitest'
import { FolderId, type ReasonCode, SessionId, UserId } from '#manager/contract'
import { newId } from '../../store/new-id.ts'
import { type ForeignFolder, type MountOfSession, type WantedImage } from '../../store/sessions/rights.ts'
import { type ImageRules, judgeMount, mayLaunch, outsideReason, rightTo } from './judge-rights.ts'

const OWNER = newId(UserId)
const ADMIN = newId(UserId)
const NO_RULES: ImageRules = { domains: new Map(), registries: new Map(), ofHub: new Set() }

const aMount = (change: Partial<ForeignFolder & MountOfSession>): ForeignFolder & MountOfSession => ({
  sessionId: newId(SessionId),
  folderId: newId(FolderId),
  name: 'data',
  readOnly: false,
  ownerId: OWNER,
  status: 'ready',
  user_id: newId(UserId),
  permission: 'rw',
  group_active: null,
  is_member: false,
  invited_permission: 'rw',
  launchedBy: null,
  launcher_id: null,
  launcher_is_member: false,
  launcher_invited_permission: null,
  ...change,
})
const PROJECT = { user_id: null, group_active: true, is_member: true, invited_permission: null } as const
const BY_ADMIN = { launchedBy: 'admin@localhost', launcher_id: ADMIN } as const

test.each<[string, Partial<ForeignFolder & MountOfSession>, 'kept' | 'lowered' | ReasonCode]>([
  ['an invitation to write', {}, 'kept'],
  ['an invitation to delete', { invited_permission: 'delete' }, 'kept'],
  ['an invitation to read, by now', { invited_permission: 'ro' }, 'lowered'],
  ['a mount that only reads anyway', { invited_permission: 'ro', readOnly: true }, 'kept'],
  ['no invitation any more', { invited_permission: null }, 'folder_withdrawn'],
  ['no invitation, and a mount that only reads', { invited_permission: null, readOnly: true }, 'folder_withdrawn'],
  ['a folder in the trash', { status: 'trashed' }, 'folder_trashed'],
  ['an own folder in the trash', { status: 'trashed', user_id: OWNER }, 'folder_trashed'],
  [
    'a folder in the trash, and no invitation any more',
    { status: 'trashed', invited_permission: null },
    'folder_withdrawn',
  ],
  ['a folder in the trash that the launcher may not mount', { status: 'trashed', ...BY_ADMIN }, 'folder_withdrawn'],
  ['a project of the owner', PROJECT, 'kept'],
  ['a project whose members only read by now', { ...PROJECT, permission: 'ro' }, 'lowered'],
  ['the same with an invitation to write', { ...PROJECT, permission: 'ro', invited_permission: 'rw' }, 'kept'],
  ['a project that the owner left', { ...PROJECT, is_member: false }, 'folder_withdrawn'],
  ['a project that is deactivated', { ...PROJECT, group_active: false }, 'folder_withdrawn'],
  ['a launcher in the project', { ...PROJECT, ...BY_ADMIN, launcher_is_member: true }, 'kept'],
  ['a launcher who left the project', { ...PROJECT, ...BY_ADMIN }, 'folder_withdrawn'],
  ['a launcher who is not there any more', { ...PROJECT, ...BY_ADMIN, launcher_id: null }, 'folder_withdrawn'],
  [
    'an own folder that the launcher may only read',
    { user_id: OWNER, ...BY_ADMIN, launcher_invited_permission: 'ro' },
    'lowered',
  ],
  ['an own folder that the launcher may not mount', { user_id: OWNER, ...BY_ADMIN }, 'folder_withdrawn'],
])('%s', (_name, change, expected) => {
  const mount = aMount(change)
  const verdict = judgeMount(mount, rightTo(mount))
  expect(typeof verdict === 'object' ? verdict.code : (verdict ?? 'kept')).toBe(expected)
})

const LOCAL = 'python:3.13'
const image = (reference: string): WantedImage => ({ reference, digest: 'sha256:1', domain: 'red' })

test.each<[string, WantedImage, Partial<ImageRules>, boolean]>([
  ['an image that was built on a host', image(LOCAL), {}, true],
  ['an image of Docker Hub', image(LOCAL), { ofHub: new Set([`${LOCAL} sha256:1`]) }, false],
  ['an image of a registry that the domain may not use', image('cr.example:5000/a:1'), {}, false],
  [
    'an image of a registry of the domain',
    image('cr.example:5000/a:1'),
    { registries: new Map([['red', ['cr.example:5000']]]) },
    true,
  ],
  [
    'any image where the domain may use all registries',
    image('cr.example/a:1'),
    { registries: new Map([['red', null]]) },
    true,
  ],
  ['an image for other domains', image(LOCAL), { domains: new Map([[LOCAL, ['blue']]]) }, false],
  ['an image for this domain', image(LOCAL), { domains: new Map([[LOCAL, ['blue', 'red']]]) }, true],
])('%s', (_name, wanted, rules, expected) => {
  expect(mayLaunch(wanted, { ...NO_RULES, ...rules })).toBe(expected)
})

test.each([
  { moved: true, code: 'domain_left' },
  { moved: false, code: 'project_left' },
])('an owner outside of domain or project: $code', ({ moved, code }) => {
  expect(outsideReason({ id: newId(SessionId), moved }).code).toBe(code)
})
