import ssh2 from 'ssh2'
import { expect, test } from 'vitest'
import { newKeyPair } from '../ssh/openssh-key.ts'
import { createKeyCheck } from './key-check.ts'

/** A check with one allowed key, its clock, and the number of times that it has asked for the keys. */
function startCheck() {
  const [owner, newcomer] = [newKeyPair('owner'), newKeyPair('newcomer')]
  const state = { now: 0, asked: 0, allowed: [owner.publicKey] }
  const check = createKeyCheck({
    parseKey: ssh2.utils.parseKey,
    now: () => state.now,
    allowedKeys: () => {
      state.asked++
      return Promise.resolve([...state.allowed])
    },
  })
  const tries = ({ publicKey }: { publicKey: string }) => {
    const key = ssh2.utils.parseKey(publicKey)
    if (key instanceof Error) throw key
    return check({ key: { algo: 'ssh-ed25519', data: key.getPublicSSH() } } as ssh2.PublicKeyAuthContext)
  }
  return { state, owner, newcomer, tries }
}

test('keys that strangers try are compared with keys that are remembered for a moment', async () => {
  const { state, tries } = startCheck()
  for (let count = 0; count < 10; count++) expect(await tries(newKeyPair('stranger'))).toBe(false)
  expect(state.asked).toBe(1)
})

test('a key that was stored a moment ago may enter, and an allowed one asks nobody for some seconds', async () => {
  const { state, owner, newcomer, tries } = startCheck()
  expect(await tries(owner)).toBe(true)
  state.allowed.push(newcomer.publicKey)
  state.now = 200
  expect(await tries(newcomer)).toBe(true)
  expect(state.asked).toBe(2)
  state.now = 3_000
  expect(await tries(owner)).toBe(true)
  expect(state.asked).toBe(2)
  state.now = 3_300
  expect(await tries(owner)).toBe(true)
  expect(state.asked).toBe(3)
})
