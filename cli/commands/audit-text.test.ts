import { expect, test } from 'vitest'
import { AUDIT_ACTIONS, type AuditEntry, UserId } from '#manager/contract'
import { auditTable, parseAction } from './audit-text.ts'

const ENTRY: AuditEntry = {
  id: 1,
  at: '2026-05-04T10:20:30.000Z',
  actorId: UserId.parse('01a22bf4-0fed-7983-93e3-baaacb760f31'),
  actor: 'ada@example.org',
  token: null,
  tokenId: null,
  actedAs: null,
  domain: 'default',
  action: 'deleteSession',
  target: 'session:01a22bf4-0fed-7983-93e3-baaacb760f32',
  targetName: 'train',
  result: 'ok',
  detail: {},
  address: '10.0.0.7',
}
const NOBODY = { ...ENTRY, actorId: null, actor: null }
/** The cells of the only row, by its columns. */
const cells = (entry: AuditEntry) => auditTable([entry]).split('\n')[1]?.split(/ {2,}/)

test('the table has words for the action and its result, and the name of the target', () => {
  expect(cells(ENTRY)).toEqual(['2026-05-04 10:20:30', 'ada@example.org', 'Terminate a session', 'train', 'Done'])
  expect(cells({ ...ENTRY, result: 'forbidden', detail: { force: true } })).toEqual(
    expect.arrayContaining(['Not allowed', '{"force":true}']),
  )
  expect(cells({ ...ENTRY, action: 'newerAction', result: 'newer_code' })).toEqual(
    expect.arrayContaining(['newerAction', 'newer_code']),
  )
})

test('a row of nobody says who it was: Berth, a stranger, or the account that a stranger tried', () => {
  expect(cells({ ...NOBODY, action: 'agentJoin', address: null })?.[1]).toBe('Berth')
  expect(cells({ ...NOBODY, action: 'startSso', target: null, targetName: null })?.[1]).toBe('Not signed in')
  const failed = { ...NOBODY, action: 'login', target: 'user:01a22bf4', targetName: 'bob@example.org' }
  expect(cells(failed)?.slice(1, 3)).toEqual(['bob@example.org (not signed in)', 'Sign in'])
})

test('an action is found by its name or by the words of the table', () => {
  expect(parseAction('updateUser')).toBe('updateUser')
  expect(parseAction('change a User')).toBe('updateUser')
  expect(parseAction('newerAction')).toBe('newerAction')
  expect(() => parseAction('change a uzer')).toThrow('berth admin audit ls')
  expect(new Set(Object.values(AUDIT_ACTIONS)).size).toBe(Object.keys(AUDIT_ACTIONS).length)
})
