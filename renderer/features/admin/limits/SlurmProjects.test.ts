// @vitest-environment happy-dom
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VAutocomplete } from 'vuetify/components/VAutocomplete'
import { VBtn } from 'vuetify/components/VBtn'
import { VIcon } from 'vuetify/components/VIcon'
import { type SlurmSettings } from '#manager/contract'
import { showField } from '../../../testing/show-field.ts'
import SlurmProjects from './SlurmProjects.vue'

type Projects = NonNullable<SlurmSettings['projects']>
const [SPEECH, VISION, GONE] = ['a', 'b', 'c'].map(last => `01900000-0000-7000-8000-00000000000${last}`)
const PROJECTS = [
  { id: String(SPEECH), domain: 'lab', name: 'speech' },
  { id: String(VISION), domain: 'lab', name: 'vision' },
]

/** Shows the fields with these settings. @returns their value */
const show = (projects: Projects, fault = false) =>
  showField(SlurmProjects, projects, {
    props: { fault },
    components: { VAutocomplete, VBtn, VIcon },
    api: { listGroups },
  })
const listGroups = ({ query }: { query: { search?: string } }) =>
  Promise.resolve({ items: PROJECTS.filter(({ id }) => !query.search || query.search === id) })
beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

const names = () => [...document.querySelectorAll('.projects strong')].map(({ textContent }) => textContent)
function fieldOf(label: string): HTMLInputElement {
  const found = document.querySelector(`[aria-label="${label}"]`)
  return (found?.matches('input') ? found : found?.querySelector('input')) as HTMLInputElement
}
function enter(label: string, text: string): void {
  const field = fieldOf(label)
  field.value = text
  field.dispatchEvent(new Event('input'))
}

test('projects are shown by domain and name with their account and QOS, and one that is gone by id', async () => {
  show({ [String(VISION)]: { account: 'vis', qos: 'high' }, [String(GONE)]: {} })
  await vi.waitFor(() => expect(names()).toEqual([String(GONE), 'lab/vision']))
  expect(fieldOf('lab/vision: Account').value).toBe('vis')
  expect(fieldOf('lab/vision: QOS').value).toBe('high')
})

test('what is typed is set without blanks around it, and an empty field is left out', async () => {
  const value = show({ [String(SPEECH)]: { account: 'old', qos: 'high' } })
  await vi.waitFor(() => expect(names()).toEqual(['lab/speech']))
  enter('lab/speech: Account', ' speech2 ')
  await vi.waitFor(() => expect(value.value).toEqual({ [String(SPEECH)]: { account: 'speech2', qos: 'high' } }))
  enter('lab/speech: QOS', ' ')
  await vi.waitFor(() => expect(value.value).toEqual({ [String(SPEECH)]: { account: 'speech2' } }))
})

test('a project is removed; a name that Slurm cannot have is a mistake that is told', async () => {
  const value = show({ [String(SPEECH)]: { account: '-x' } }, true)
  await vi.waitFor(() => expect(names()).toEqual(['lab/speech']))
  expect(document.querySelector('[role=alert]')?.textContent).not.toBe('')
  document.querySelector<HTMLButtonElement>('.projects button')?.click()
  await vi.waitFor(() => expect(value.value).toEqual({}))
})
