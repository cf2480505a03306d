// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { expect, onTestFinished, test } from 'vitest'
import { createApp, defineComponent, h, nextTick, shallowRef } from 'vue'
import { type Session } from '#manager/contract'
import { createPageVuetify } from '../../ui/vuetify.ts'
import { provideServices, type Services } from '../../services.ts'
import { aSession } from '../../testing/a-session.ts'
import { testEvents } from '../../testing/services.ts'
import LogsTab from './LogsTab.vue'

const kernelsOf = (roles: readonly string[]) =>
  roles.map((role, index) => ({ ...aSession(1).kernels[0], id: `kernel-${index}`, role })) as Session['kernels']

/** A list to choose from, without Vuetify's menu. */
const VSelect = defineComponent({
  props: { items: { type: Array, required: true }, modelValue: null },
  emits: ['update:modelValue'],
  setup:
    (props, { emit, attrs }) =>
    () =>
      h('button', { 'aria-label': attrs['aria-label'], onClick: () => emit('update:modelValue', props.items.at(-1)) }),
})

test('the container whose log was chosen is asked for only in sessions that have it', async () => {
  const asked: unknown[] = []
  const api = {
    getSessionLogs: ({ params: { id }, query }: Parameters<Services['api']['getSessionLogs']>[0]) =>
      Promise.resolve(void asked.push([id, query?.kernel])),
  }
  const session = shallowRef<Session>(aSession(1, { kernels: kernelsOf(['main1', 'sub1']) }))
  const app = createApp({ render: () => h(LogsTab, { session: session.value }) })
  app.use(createPageVuetify()).use(createPinia()).component('VSelect', VSelect)
  app.config.warnHandler = () => undefined
  provideServices(app, { api, events: testEvents() } as unknown as Services)
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  const first = session.value.id
  document.querySelector<HTMLElement>('[aria-label="Output of container"]')?.click()
  await expect.poll(() => asked.at(-1)).toEqual([first, 'sub1'])
  const other = aSession(2, { kernels: kernelsOf(['main1']) })
  session.value = other
  await nextTick()
  await expect.poll(() => asked.at(-1)).toEqual([other.id, undefined])
})
