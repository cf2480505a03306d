// @vitest-environment happy-dom
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VAlert } from 'vuetify/components/VAlert'
import { VAutocomplete } from 'vuetify/components/VAutocomplete'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard } from 'vuetify/components/VCard'
import { VCheckbox } from 'vuetify/components/VCheckbox'
import { VDialog } from 'vuetify/components/VDialog'
import { VIcon } from 'vuetify/components/VIcon'
import { VSelect } from 'vuetify/components/VSelect'
import { showField } from '../../../testing/show-field.ts'
import GroupDialog from './GroupDialog.vue'

const COMPONENTS = { VAlert, VAutocomplete, VBtn, VCard, VCheckbox, VDialog, VIcon, VSelect }
const [ADA, SPEECH] = ['a', 'b'].map(last => `01900000-0000-7000-8000-00000000000${last}`)

beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

test('the weights of users and of projects are shown in the dialog of a group with fair share, and saved with it', async () => {
  const updateResourceGroup = vi.fn(() => Promise.resolve({}))
  const api = {
    updateResourceGroup,
    getUser: () => Promise.resolve({ id: ADA, email: 'ada@example.org' }),
    listUsers: () => Promise.resolve({ items: [] }),
    listGroups: () => Promise.resolve({ items: [{ id: SPEECH, domain: 'lab', name: 'speech' }] }),
  }
  const options = { weights: { [String(ADA)]: 2 }, projectWeights: { [String(SPEECH)]: 3 } }
  const group = { name: 'gpu', description: '', engine: 'berth', sequencer: 'drf', selector: 'concentrated', options }
  showField(GroupDialog, true, { props: { group }, components: COMPONENTS, api })
  const labels = () => [...document.querySelectorAll<HTMLLabelElement>('.weights label')]
  await vi.waitFor(() => expect(labels().map(one => one.textContent)).toEqual(['ada@example.org', 'lab/speech']))
  const field = document.getElementById(labels()[0]?.htmlFor ?? '') as HTMLInputElement
  field.value = '2.5'
  field.dispatchEvent(new Event('input'))
  document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))
  await vi.waitFor(() => expect(updateResourceGroup).toHaveBeenCalledOnce())
  expect(updateResourceGroup).toHaveBeenCalledWith({
    params: { name: 'gpu' },
    body: expect.objectContaining({ options: { ...options, weights: { [String(ADA)]: 2.5 } } }) as object,
  })
})
