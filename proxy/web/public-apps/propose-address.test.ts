import { expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { proposeAddress } from './propose-address.ts'

const at = (allowedHosts: string[], hasTls = true, port = 8400) => proposeAddress({ hasTls, allowedHosts, port })

test('a console with a name and TLS is told of an address that works', () => {
  expect(at(['192.0.2.7', 'berth.example.org:8400'])).toBe('https://berth.example.org:20000-20099')
  expect(parseAppsAddress(at(['berth.example.org']) ?? '')).toMatchObject({ kind: 'ports', host: 'berth.example.org' })
  expect(at(['berth.example.org'], true, 20_050)).toBe('https://berth.example.org:21000-21099')
})

test('nothing is proposed without TLS of its own, and without a name', () => {
  expect([at(['berth.example.org'], false), at([]), at(['192.0.2.7', '[2001:db8::1]:8400', 'berth'])]).toEqual([
    null,
    null,
    null,
  ])
})
