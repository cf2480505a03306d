import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSignInOwner } from './sign-in-owner.ts'

const LINK = ['/opt/berth', `berth://sign-in/berth_${'a'.repeat(43)}`]
let dir: string
let clock = 0
const ownerOf = (profile?: string) => createSignInOwner(path.join(dir, 'sign-in.json'), profile, () => clock)
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-owner-'))
})
afterEach(() => rm(dir, { recursive: true }))

test('the link of a sign-in goes to the profile that began it', async () => {
  expect(ownerOf().otherProfile(LINK)).toBeUndefined()
  await ownerOf('work').begun()
  expect(ownerOf().otherProfile(LINK)).toEqual({ profile: 'work' })
  expect(ownerOf('work').otherProfile(LINK)).toBeUndefined()
  expect(ownerOf().otherProfile(['/opt/berth', 'berth://open/sessions'])).toBeUndefined()
  await ownerOf().begun()
  expect(ownerOf().otherProfile(LINK)).toBeUndefined()
  expect(ownerOf('work').otherProfile(LINK)).toEqual({ profile: undefined })
})

test('a sign-in of long ago owns nothing', async () => {
  await ownerOf('work').begun()
  clock += 31 * 60_000
  expect(ownerOf().otherProfile(LINK)).toBeUndefined()
})
