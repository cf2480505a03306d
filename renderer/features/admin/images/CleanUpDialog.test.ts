// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createApp, h } from 'vue'
import { VAlert } from 'vuetify/components/VAlert'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard, VCardText } from 'vuetify/components/VCard'
import { VCheckbox } from 'vuetify/components/VCheckbox'
import { VDialog } from 'vuetify/components/VDialog'
import { VIcon } from 'vuetify/components/VIcon'
import { VSkeletonLoader } from 'vuetify/components/VSkeletonLoader'
import { type AgentCleanUp, AgentId, AppError } from '#manager/contract'
import { createPageVuetify } from '../../../ui/vuetify.ts'
import { provideServices, type Services } from '../../../services.ts'
import { testEvents } from '../../../testing/services.ts'
import CleanUpDialog from './CleanUpDialog.vue'

const COMPONENTS = { VAlert, VBtn, VCard, VCardText, VCheckbox, VDialog, VIcon, VSkeletonLoader }
const AGENT = AgentId.parse('a0000000-0000-7000-8000-000000000001')

const agentWith = (...names: readonly string[]): AgentCleanUp[] => [
  {
    agentId: AGENT,
    agentName: 'one',
    images: names.map(name => ({ digest: `sha256:${name}`, references: [name], sizeBytes: 1, uniqueBytes: 1 })),
    kept: [],
    freedBytes: names.length,
    error: null,
  },
]

/** Opens the dialog. The test answers each request itself, in any order. */
function openDialog() {
  const calls: { body: object; answer: (items: AgentCleanUp[]) => void; fail: (error: Error) => void }[] = []
  const cleanUpImages = ({ body }: { body: object }) =>
    new Promise((resolve, reject) => {
      calls.push({ body, answer: items => resolve({ items }), fail: reject })
    })
  const app = createApp({ render: () => h(CleanUpDialog, { modelValue: true }) })
  app.use(createPageVuetify()).use(createPinia())
  for (const [name, component] of Object.entries(COMPONENTS)) app.component(name, component)
  provideServices(app, { api: { cleanUpImages }, events: testEvents() } as unknown as Services)
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  return calls
}
// Vuetify needs it; happy-dom has none.
beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

function find<N extends 'button' | 'form' | 'input'>(tag: N, more = ''): HTMLElementTagNameMap[N] {
  const found = document.querySelector<HTMLElementTagNameMap[N]>(`${tag}${more}`)
  if (!found) throw new Error(`no ${tag}${more}`)
  return found
}
const red = () => find('button', '[type=submit]')
const text = () => document.body.textContent
const includeLocal = () => find('input', '[type=checkbox]').click()

test('nothing can be removed before the list is there; what is sent is what was listed', async () => {
  const calls = openDialog()
  await expect.poll(() => red().disabled).toBe(true)
  red().click()
  find('form').dispatchEvent(new Event('submit', { cancelable: true }))
  expect(calls).toHaveLength(1)
  calls[0]?.answer(agentWith('from-registry'))
  await expect.poll(() => red().disabled).toBe(false)
  find('form').dispatchEvent(new Event('submit', { cancelable: true }))
  await expect.poll(() => calls).toHaveLength(2)
  expect(calls[1]?.body).toEqual({
    includeLocal: false,
    listed: [{ agentId: AGENT, images: [{ digest: 'sha256:from-registry', references: ['from-registry'] }] }],
  })
})

test('with nothing to remove, the red button stays off', async () => {
  const calls = openDialog()
  await vi.waitFor(() => expect(calls).toHaveLength(1))
  calls[0]?.answer(agentWith())
  await vi.waitFor(() => expect(text()).toContain('one'))
  expect(red().disabled).toBe(true)
})

test('only the answer to the present choice fills the list, whichever comes last', async () => {
  const calls = openDialog()
  includeLocal()
  await expect.poll(() => calls).toHaveLength(2)
  expect(calls[1]?.body).toEqual({ dryRun: true, includeLocal: true })
  calls[1]?.answer(agentWith('from-registry', 'made-here-only'))
  await expect.poll(() => text()).toContain('made-here-only')
  calls[0]?.answer(agentWith('from-registry'))
  await new Promise(resolve => setTimeout(resolve))
  expect(text()).toContain('made-here-only')
})

test('after a choice has changed or its list has failed, the button waits again', async () => {
  const calls = openDialog()
  await expect.poll(() => calls).toHaveLength(1)
  calls[0]?.answer(agentWith('from-registry'))
  await expect.poll(() => red().disabled).toBe(false)
  includeLocal()
  await expect.poll(() => red().disabled).toBe(true)
  calls[1]?.fail(new AppError('agent_unreachable'))
  await expect.poll(() => document.querySelector('[role=alert]')).not.toBeNull()
  expect(red().disabled).toBe(true)
})
