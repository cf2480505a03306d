import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSecretBox, toMasterKey } from './secret-box.ts'

const [one, two] = [toMasterKey(randomBytes(32)), toMasterKey(randomBytes(32))]
const box = createSecretBox([one])

test.each(['', 'secret', '비밀 🔑', 'x'.repeat(100_000)])('a sealed secret opens to the same text (%#)', secret => {
  const sealed = box.seal(secret, 'context')
  expect(sealed.startsWith(`v1.${one.id}.`)).toBe(true)
  if (secret !== '') expect(sealed).not.toContain(secret)
  expect(box.open(sealed, 'context')).toBe(secret)
})

test('sealing the same secret twice gives different texts', () => {
  expect(box.seal('same', 'context')).not.toBe(box.seal('same', 'context'))
})

test('a secret opens only at its own place', () => {
  expect(() => box.open(box.seal('secret', 'keypair:A'), 'keypair:B')).toThrow()
})

test('every changed byte is noticed', () => {
  const [version = '', id = '', data = ''] = box.seal('secret', 'context').split('.')
  const bytes = Buffer.from(data, 'base64url')
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    expect(() => box.open([version, id, changed.toString('base64url')].join('.'), 'context')).toThrow()
  }
})

test.each(['', 'v1', 'v1..', 'v2.a.b', 'plain text', `v1.${one.id}.AAAA`, `v1.${one.id}.AAAA.more`])(
  '%j is not a sealed secret',
  text => expect(() => box.open(text, 'context')).toThrow(),
)

test('during a rotation the old keys open and the new key seals', () => {
  const both = createSecretBox([two, one])
  const resealed = both.seal(both.open(box.seal('secret', 'context'), 'context'), 'context')
  expect(createSecretBox([two]).open(resealed, 'context')).toBe('secret')
  expect(() => box.open(resealed, 'context')).toThrow(two.id)
})

test('a signed text is accepted for its purpose only, also after a rotation', () => {
  const mac = box.mac('text', 'kernel')
  expect(box.isMac(mac, 'text', 'kernel')).toBe(true)
  expect(createSecretBox([two, one]).isMac(mac, 'text', 'kernel')).toBe(true)
  expect(box.isMac(mac, 'text ', 'kernel')).toBe(false)
  expect(box.isMac(mac, 'text', 'other')).toBe(false)
  expect(createSecretBox([two]).isMac(mac, 'text', 'kernel')).toBe(false)
  for (const wrong of ['', 'AAAA', `${mac}AA`]) expect(box.isMac(wrong, 'text', 'kernel')).toBe(false)
})
