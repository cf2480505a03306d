import { createPinia } from 'pinia'
import { onTestFinished } from 'vitest'
import { type Component, createApp, h, type Ref, ref } from 'vue'
import { createPageVuetify } from '../ui/vuetify.ts'
import { provideServices, type Services } from '../services.ts'
import { testEvents } from './services.ts'

interface Shown {
  /** Properties besides the value. */
  readonly props: Readonly<Record<string, unknown>>
  /** Components of Vuetify, which the build registers by itself. */
  readonly components: Readonly<Record<string, Component>>
  /** The calls that the field makes. */
  readonly api: object
}

/** Shows a field with `v-model` in the document until the test ends. @returns its value */
export function showField<Value>(field: Component, start: Value, { props, components, api }: Shown): Ref<Value> {
  const value = ref(start) as Ref<Value>
  const app = createApp({
    render: () =>
      h(field, {
        ...props,
        modelValue: value.value,
        'onUpdate:modelValue': (next: Value) => {
          value.value = next
        },
      }),
  })
  app.use(createPageVuetify()).use(createPinia())
  for (const [name, component] of Object.entries(components)) app.component(name, component)
  provideServices(app, { api, events: testEvents() } as unknown as Services)
  app.mount(document.body.appendChild(document.createElement('div')))
  onTestFinished(() => {
    app.unmount()
    document.body.replaceChildren()
  })
  return value
}
