import { expect, test } from 'vitest'
import { type SettingsFile } from '../settings/settings-file.ts'
import { createServerTrust } from './server-trust.ts'

const digits = (pair: string) => Array.from({ length: 32 }, () => pair).join(':')
const pinOf = (pair: string) => `key:${digits(pair)} certificate:${digits(pair)}`
const ORIGIN = 'https://berth.example'

function setUp({ known, shows, answer }: { known?: string; shows: string; answer: number }) {
  const asked: string[] = []
  const current = { certificates: known === undefined ? {} : { [ORIGIN]: pinOf(known) } }
  const settings = {
    current,
    update: (more: object) => Promise.resolve(Object.assign(current, more)),
  } as unknown as SettingsFile
  const trust = createServerTrust({
    settings,
    network: {
      shownBy: () => Promise.resolve({ fingerprint: digits(shows), key: digits(shows), pin: pinOf(shows) }),
    },
    ask({ message, detail, defaultId }) {
      expect(defaultId).toBe(0)
      asked.push(`${message} ${detail?.replaceAll('\n', '')}`)
      return Promise.resolve({ response: answer, checkboxChecked: false })
    },
    language: () => 'en',
  })
  return { trust, asked, pins: () => current.certificates as Record<string, string> }
}

test('a known server is not asked about by itself, whatever certificate it shows', async () => {
  const { trust, asked } = setUp({ known: 'AA', shows: 'BB', answer: 1 })
  expect(await trust.ask(ORIGIN)).toBe(false)
  expect(asked).toEqual([])
})

test('a new certificate is trusted after a question with both fingerprints', async () => {
  const { trust, asked, pins } = setUp({ known: 'AA', shows: 'BB', answer: 1 })
  expect(await trust.askAnew(ORIGIN)).toBe(true)
  expect(asked[0]).toContain(digits('AA'))
  expect(asked[0]).toContain(digits('BB'))
  expect(pins()).toEqual({ [ORIGIN]: pinOf('BB') })
})

test('Cancel leaves the known certificate as it was', async () => {
  const { trust, pins } = setUp({ known: 'AA', shows: 'BB', answer: 0 })
  expect(await trust.askAnew(ORIGIN)).toBe(false)
  expect(pins()).toEqual({ [ORIGIN]: pinOf('AA') })
})

test('nothing is asked where the known certificate is back, or none is known', async () => {
  const back = setUp({ known: 'AA', shows: 'AA', answer: 1 })
  expect(await back.trust.askAnew(ORIGIN)).toBe(true)
  const strange = setUp({ shows: 'AA', answer: 1 })
  expect(await strange.trust.askAnew(ORIGIN)).toBe(false)
  expect([...back.asked, ...strange.asked]).toEqual([])
})
