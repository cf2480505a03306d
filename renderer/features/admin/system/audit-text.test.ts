import { expect, test } from 'vitest'
import { type AuditEntry } from '#manager/contract'
import { targetText } from './audit-text.ts'

const entry = (target: string | null, targetName: string | null = null) =>
  ({ target, targetName }) satisfies Pick<AuditEntry, 'target' | 'targetName'>

test('a target has its present name, or the name that is its id; a gone thing has its id, and nothing is a dash', () => {
  expect(targetText(entry('session:01a22bf4-0fed-7983-93e3-baaacb760f31', 'train'))).toBe('train')
  expect(targetText(entry('resource-group:gpu-large'))).toBe('gpu-large')
  expect(targetText(entry('image:127.0.0.1:5000/berth/pytorch:2.9'))).toBe('127.0.0.1:5000/berth/pytorch:2.9')
  expect(targetText(entry('session:01a22bf4-0fed-7983-93e3-baaacb760f31'))).toBe(
    'session:01a22bf4-0fed-7983-93e3-baaacb760f31',
  )
  expect(targetText(entry(null))).toBe('–')
  // The person who signed in stands beside it; the id of the sign-in is in the details.
  expect(targetText(entry('login:01a22bf4-0fed-7983-93e3-baaacb760f31'))).toBe('–')
})
