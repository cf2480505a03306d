// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createApp, h } from 'vue'
import { VAlert } from 'vuetify/components/VAlert'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard } from 'vuetify/components/VCard'
import { VCheckbox } from 'vuetify/components/VCheckbox'
import { VDialog } from 'vuetify/components/VDialog'
import { VSelect } from 'vuetify/components/VSelect'
import { type Image } from '#manager/contract'
import { createPageVuetify } from '../../../ui/vuetify.ts'
import { provideServices, type Services } from '../../../services.ts'
import { testEvents } from '../../../testing/services.ts'
import ImageDialog from './ImageDialog.vue'

const COMPONENTS = { VAlert, VBtn, VCard, VCheckbox, VDialog, VSelect }
const IMAGE = {
  reference: 'example.org/physics:1',
  domains: ['physics'],
  aliases: [],
  apps: [],
  agentIds: [],
  minimum: {},
  sizeBytes: 1,
  digest: 'sha256:a',
} as unknown as Image

/** Opens the dialog of an image for one domain. The test answers the request for all domains. */
function openDialog() {
  const domains = Promise.withResolvers<{ items: { name: string }[] }>()
  const sent: unknown[] = []
  const api = {
    listDomains: () => domains.promise,
    listAgentSummaries: () => Promise.resolve({ items: [], nextCursor: null, total: 0 }),
    updateImage: ({ body }: { body: unknown }) => Promise.resolve(void sent.push(body)),
  }
  const app = createApp({ render: () => h(ImageDialog, { modelValue: true, image: IMAGE }) })
  app.use(createPageVuetify()).use(createPinia())
  for (const [name, component] of Object.entries(COMPONENTS)) app.component(name, component)
  provideServices(app, { api, events: testEvents() } as unknown as Services)
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  return { domains, sent }
}
// Vuetify needs it; happy-dom has none.
beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

const save = () => {
  const button = document.querySelector<HTMLButtonElement>('button[type=submit]')
  if (!button) throw new Error('no button')
  return button
}
const submit = () => document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))

test('an image keeps its domains while the list of all is not there, and after it failed', async () => {
  const { domains, sent } = openDialog()
  await expect.poll(() => document.querySelector('form')).not.toBeNull()
  expect(save().disabled).toBe(true)
  submit()
  domains.reject(new Error('away'))
  await expect.poll(() => document.querySelector('[role=alert]')).not.toBeNull()
  expect(save().disabled).toBe(true)
  submit()
  expect(sent).toEqual([])
})

test('with the list, the chosen domains that still exist are sent', async () => {
  const { domains, sent } = openDialog()
  domains.resolve({ items: [{ name: 'default' }, { name: 'physics' }] })
  await expect.poll(() => save().disabled).toBe(false)
  submit()
  await expect.poll(() => sent).toEqual([{ reference: IMAGE.reference, domains: ['physics'] }])
})
