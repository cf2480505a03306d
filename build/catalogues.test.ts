import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ADMINISTRATION_CAUSES } from '../manager/contract/causes/administration.ts'
import { AGENT_CAUSES } from '../manager/contract/causes/agent.ts'
import { CAUSES } from '../manager/contract/causes/causes.ts'
import { DOCTOR_CAUSES } from '../manager/contract/causes/doctor.ts'
import { HOST_CAUSES } from '../manager/contract/causes/host.ts'
import { LOCAL_CAUSES } from '../manager/contract/causes/local.ts'
import { SESSION_CAUSES } from '../manager/contract/causes/session.ts'
import { placeholdersOf } from './compile-message.ts'
import { featuresOf, readCatalogue } from './read-catalogue.ts'

const FOLDER = new URL('../renderer/words/', import.meta.url)
const LANGUAGES = ['en', 'ko']
const read = (language: string, feature: string) =>
  readCatalogue(fileURLToPath(new URL(`${language}/${feature}.ts`, FOLDER)))
/** Catalogues with the same English texts as the server; types keep them complete. */
const SERVER_TEXTS = {
  causes: CAUSES,
  'admin-causes': ADMINISTRATION_CAUSES,
  'admin-agent-causes': AGENT_CAUSES,
  'host-causes': HOST_CAUSES,
  'local-causes': LOCAL_CAUSES,
  'session-causes': SESSION_CAUSES,
  'admin-doctor': DOCTOR_CAUSES,
}
const FROM_SERVER = [...Object.keys(SERVER_TEXTS), 'errors']
const features = await featuresOf(FOLDER, 'en')

test('every language has the features of English', async () => {
  expect(features.length).toBeGreaterThan(2)
  for (const language of LANGUAGES.slice(1))
    expect(await featuresOf(FOLDER, language), language).toEqual([...features, ...FROM_SERVER].toSorted())
})

test.each(features)(
  'the texts of %s have the same keys and placeholders in every language, and none is empty',
  async feature => {
    const shape = (messages: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(messages).map(([key, text]) => [key, { has: placeholdersOf(text), marks: marks(text) }]),
      )
    const english = await read('en', feature)
    for (const language of LANGUAGES.slice(1)) {
      const messages = await read(language, feature)
      expect(shape(messages), language).toEqual(shape(english))
      for (const [key, text] of Object.entries(messages)) expect(text.trim(), `${language} ${key}`).not.toBe('')
    }
  },
)

test.each(Object.entries(SERVER_TEXTS))(
  'every key of %s has a Korean text with the placeholders of the English one',
  async (feature, english) => {
    const korean = await read('ko', feature)
    const placeholders = (messages: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(messages).map(([key, text]) => [key, placeholdersOf(text)]))
    expect(placeholders(korean)).toEqual(placeholders(english))
    for (const [key, text] of Object.entries(korean)) expect(text, key).toMatch(/[가-힣]/)
  },
)

test('a cause has one key in all tables', () => {
  const keys = Object.values(SERVER_TEXTS).flatMap(texts => Object.keys(texts))
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
})

/** The marked parts of a rich text: `<link>…</link>`. */
const marks = (text: string) => [...new Set(text.match(/<[a-zA-Z]+>/g) ?? [])].toSorted()

test('no Korean text offers two particles to choose from, as 을(를) does', async () => {
  for (const feature of [...features, ...FROM_SERVER])
    for (const [key, text] of Object.entries(await read('ko', feature)))
      expect(text, `${feature} ${key}`).not.toMatch(/[을은이과](\(|\/)[를는가와]|\([으를는가와]/)
})

test('a Korean placeholder is not followed by a particle that depends on its last sound', async () => {
  for (const feature of [...features, ...FROM_SERVER])
    for (const [key, text] of Object.entries(await read('ko', feature)))
      expect(text, `${feature} ${key}`).not.toMatch(
        /\}(?:"|”|』|」|<\/\w+>)?(?:을|를|은|는|이|가|과|와|으로|로|이나|나|아|야)(?=[\s.,]|$)/,
      )
})
