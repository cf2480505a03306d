// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createApp, defineComponent, h } from 'vue'
import { VAlert } from 'vuetify/components/VAlert'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard } from 'vuetify/components/VCard'
import { VDialog } from 'vuetify/components/VDialog'
import { VTextField } from 'vuetify/components/VTextField'
import { createPageVuetify } from '../../../ui/vuetify.ts'
import { provideServices, type Services } from '../../../services.ts'
import { testEvents } from '../../../testing/services.ts'
import PullDialog from './PullDialog.vue'

/** A list to choose from, without Vuetify's menu. */
const VSelect = defineComponent({
  props: { items: { type: Array<{ value: string; title: string }>, required: true }, modelValue: null },
  emits: ['update:modelValue'],
  setup(props, { emit, attrs }) {
    const choose = (event: Event) => emit('update:modelValue', (event.target as HTMLSelectElement).value)
    return () =>
      h(
        'select',
        { 'aria-label': attrs['aria-label'], onChange: choose },
        props.items.map(({ value, title }) => h('option', { value }, title)),
      )
  },
})
const COMPONENTS = { VAlert, VBtn, VCard, VDialog, VSelect, VTextField }
const torch = (digit: string, firstAgent: string) => ({
  reference: 'lab/torch:2',
  aliases: ['torch'],
  digest: `sha256:${digit.repeat(64)}`,
  sizeBytes: 2 ** 30,
  holders: 1,
  firstAgents: [firstAgent],
})

function openDialog(items: unknown[], reference = 'lab/torch:2') {
  const sent: unknown[] = []
  const api = {
    listImages: () => Promise.resolve({ items, nextCursor: null, total: items.length }),
    listAgentSummaries: () => Promise.resolve({ items: [], nextCursor: null, total: 0 }),
    pullImage: ({ body }: { body: unknown }) => Promise.resolve(void sent.push(body)),
  }
  const app = createApp({ render: () => h(PullDialog, { modelValue: true, reference }) })
  app.use(createPageVuetify()).use(createPinia())
  for (const [name, component] of Object.entries(COMPONENTS)) app.component(name, component)
  provideServices(app, { api, events: testEvents() } as unknown as Services)
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  return sent
}
// Vuetify needs it; happy-dom has none.
beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

const list = (label: string) => document.querySelector<HTMLSelectElement>(`select[aria-label="${label}"]`)
async function choose(label: string, value: string): Promise<void> {
  await expect.poll(() => list(label)).not.toBeNull()
  const field = list(label)
  if (!field) throw new Error(`no ${label}`)
  field.value = value
  field.dispatchEvent(new Event('change'))
}
const submit = () => document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))

test('of several images that hosts have under the name, one is chosen before it is copied', async () => {
  const [a, b] = [torch('a', 'gpu-1'), torch('b', 'gpu-2')]
  const sent = openDialog([a, b])
  await choose('From', 'agents')
  await expect.poll(() => list('Which image')?.textContent).toContain('sha256:bbbbbbbbbbbb · 1 GiB · gpu-2')
  submit()
  await choose('Which image', b.digest)
  submit()
  await expect.poll(() => sent).toEqual([{ reference: 'lab/torch:2', from: 'agents', digest: b.digest }])
})

test('an alias is asked about as the name is for which it stands', async () => {
  const [a, b] = [torch('a', 'gpu-1'), torch('b', 'gpu-2')]
  const sent = openDialog([a, b], 'torch')
  await choose('From', 'agents')
  await choose('Which image', a.digest)
  submit()
  await expect.poll(() => sent).toEqual([{ reference: 'torch', from: 'agents', digest: a.digest }])
})

test('nothing is asked where hosts have one image under the name', async () => {
  const sent = openDialog([torch('a', 'gpu-1')])
  await choose('From', 'agents')
  submit()
  await expect.poll(() => sent).toEqual([{ reference: 'lab/torch:2', from: 'agents' }])
  expect(list('Which image')).toBeNull()
})
