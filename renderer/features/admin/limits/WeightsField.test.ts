// @vitest-environment happy-dom
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VAutocomplete } from 'vuetify/components/VAutocomplete'
import { VBtn } from 'vuetify/components/VBtn'
import { VCheckbox } from 'vuetify/components/VCheckbox'
import { VIcon } from 'vuetify/components/VIcon'
import { showField } from '../../../testing/show-field.ts'
import WeightsField from './WeightsField.vue'

const COMPONENTS = { VAutocomplete, VBtn, VCheckbox, VIcon }
const [ADA, BOB, GONE] = ['a', 'b', 'c'].map(last => `01900000-0000-7000-8000-00000000000${last}`)
const PROJECTS = [
  { id: String(ADA), domain: 'lab', name: 'speech' },
  { id: String(BOB), domain: 'lab', name: 'vision' },
]
const EMAILS: Readonly<Record<string, string>> = { [String(ADA)]: 'ada@example.org', [String(BOB)]: 'bob@example.org' }

/** Shows the field with these weights. @returns its value */
function show(weights: Readonly<Record<string, number>>, of: 'users' | 'projects' = 'users') {
  const getUser = ({ params: { id } }: { params: { id: string } }) => {
    const email = EMAILS[id]
    return email ? Promise.resolve({ id, email }) : Promise.reject(new Error('no such user'))
  }
  const listUsers = () => Promise.resolve({ items: Object.entries(EMAILS).map(([id, email]) => ({ id, email })) })
  const listGroups = ({ query }: { query: { search?: string } }) =>
    Promise.resolve({ items: PROJECTS.filter(({ id }) => !query.search || query.search === id) })
  const api = { getUser, listUsers, listGroups }
  return showField(WeightsField, weights, { props: { of }, components: COMPONENTS, api })
}
beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

const labels = () => [...document.querySelectorAll('.weights label')].map(({ textContent }) => textContent)
function fieldOf(label: string): HTMLInputElement {
  const found = [...document.querySelectorAll('.weights label')].find(({ textContent }) => textContent === label)
  return document.querySelector(`[id="${found?.getAttribute('for') ?? ''}"]`) as HTMLInputElement
}
function enter(label: string, text: string): void {
  const field = fieldOf(label)
  field.value = text
  field.dispatchEvent(new Event('input'))
}

test('users are shown by address, and a user who is gone by id', async () => {
  show({ [String(BOB)]: 2, [String(GONE)]: 3, [String(ADA)]: 0.5 })
  await vi.waitFor(() => expect(labels()).toEqual([String(GONE), 'ada@example.org', 'bob@example.org']))
  expect(fieldOf('ada@example.org').value).toBe('0.5')
})

test('a weight is changed and removed; what is no weight is NaN, and says so', async () => {
  const value = show({ [String(ADA)]: 1 })
  await vi.waitFor(() => expect(labels()).toEqual(['ada@example.org']))
  enter('ada@example.org', '2.5')
  await vi.waitFor(() => expect(value.value).toEqual({ [String(ADA)]: 2.5 }))
  for (const wrong of ['', '0', '-1', 'many', '1001']) {
    enter('ada@example.org', wrong)
    await vi.waitFor(() => expect(value.value).toEqual({ [String(ADA)]: Number.NaN }))
  }
  expect(document.body.textContent).toContain('Enter a number above 0, at most 1000')
  document.querySelector<HTMLButtonElement>('[aria-label="Remove the weight of ada@example.org"]')?.click()
  await vi.waitFor(() => expect(value.value).toEqual({}))
})

test('projects are shown by domain and name, and one that is gone by id', async () => {
  const value = show({ [String(BOB)]: 2, [String(GONE)]: 3 }, 'projects')
  await vi.waitFor(() => expect(labels()).toEqual([String(GONE), 'lab/vision']))
  enter('lab/vision', '4')
  await vi.waitFor(() => expect(value.value).toEqual({ [String(BOB)]: 4, [String(GONE)]: 3 }))
})
