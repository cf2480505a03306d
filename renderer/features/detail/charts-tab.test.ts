// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { expect, onTestFinished, test } from 'vitest'
import { createApp, defineComponent, h, nextTick, shallowRef } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { type Session } from '#manager/contract'
import { provideServices, type Services } from '../../services.ts'
import { aSession } from '../../testing/a-session.ts'
import { testEvents } from '../../testing/services.ts'
import { createPageVuetify } from '../../ui/vuetify.ts'
import ChartsTab from './ChartsTab.vue'

const kernelsOf = (...roles: readonly string[]) =>
  roles.map((role, index) => ({ ...aSession(1).kernels[0], id: `kernel-${index}`, role })) as Session['kernels']

/** A list to choose from, without Vuetify's menu. */
const VSelect = defineComponent({
  props: { items: { type: Array<{ value: string }>, required: true }, modelValue: null },
  emits: ['update:modelValue'],
  setup:
    (props, { emit, attrs }) =>
    () =>
      h('button', {
        'aria-label': attrs['aria-label'],
        onClick: () => emit('update:modelValue', props.items.at(-1)?.value),
      }),
})

test('the charts are of all containers, or of the chosen one in sessions that have it', async () => {
  const asked: unknown[] = []
  const api = {
    getSessionStats: ({ params: { id }, query }: Parameters<Services['api']['getSessionStats']>[0]) => {
      asked.push([id, query?.kernel])
      return Promise.resolve({ step: 60, items: [] })
    },
  }
  const session = shallowRef<Session>(aSession(1, { kernels: kernelsOf('main1', 'sub1') }))
  const app = createApp({ render: () => h(ChartsTab, { session: session.value }) })
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: {} }] })
  app.use(createPageVuetify()).use(createPinia()).use(router).component('VSelect', VSelect)
  app.config.warnHandler = () => undefined
  provideServices(app, { api, events: testEvents() } as unknown as Services)
  await router.push('/')
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  const first = session.value.id
  await expect.poll(() => asked.at(-1)).toEqual([first, undefined])
  document.querySelector<HTMLElement>('[aria-label="Figures of container"]')?.click()
  await expect.poll(() => asked.at(-1)).toEqual([first, 'sub1'])
  const other = aSession(2, { kernels: kernelsOf('main1') })
  session.value = other
  await nextTick()
  await expect.poll(() => asked.at(-1)).toEqual([other.id, undefined])
  expect(document.querySelector('[aria-label="Figures of container"]')).toBeNull()
})
