import { expect, test } from 'vitest'
import { reconnectPauseMs } from './reconnect-pause.ts'
import { parseJoinString, requireSafeUrl } from './join-string.ts'

const encode = (value: unknown) => `berth-join:${Buffer.from(JSON.stringify(value)).toString('base64url')}`

test('a join string contains the address, the token and the pinned key', () => {
  const invitation = { url: 'https://host:8443', token: 't', fingerprint: 'ab'.repeat(32) }
  expect(parseJoinString(` ${encode(invitation)}\n`)).toEqual(invitation)
})

test.each(['', 'berth-join:', 'berth-join:%%%', encode({ url: 'ftp://x', token: 't' }), encode({ url: 'http://x' })])(
  'a damaged join string is refused: %s',
  text => expect(() => parseJoinString(text)).toThrow(expect.objectContaining({ code: 'config_invalid' })),
)

test('plain http is accepted for this computer only', () => {
  for (const url of [
    'http://127.0.0.1:80',
    'http://127.8.9.1',
    'http://localhost:1',
    'http://[::1]:2',
    'https://lab.example',
  ]) {
    expect(requireSafeUrl(url).href).toContain('//')
  }
  for (const url of ['http://10.0.0.1', 'http://127.0.0.1.example', 'http://localhost.example']) {
    expect(() => requireSafeUrl(url)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  }
})

test('the delay before the next attempt is random, below a bound that doubles up to ten seconds', () => {
  const remote = { local: false, refused: false }
  expect([0, 1, 2, 3].map(attempt => reconnectPauseMs(attempt, 0.999, remote))).toEqual([199, 399, 799, 1598])
  expect(reconnectPauseMs(50, 0.999, remote)).toBe(9990)
  expect(reconnectPauseMs(50, 0.999, { ...remote, refused: true })).toBe(2997)
  expect(reconnectPauseMs(50, 0, remote)).toBe(0)
})

test('the attempts for a manager on this computer come several times a second', () => {
  expect(reconnectPauseMs(50, 0.999, { local: true, refused: true })).toBeLessThan(400)
})
