// @vitest-environment happy-dom
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VAlert } from 'vuetify/components/VAlert'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard } from 'vuetify/components/VCard'
import { VDialog } from 'vuetify/components/VDialog'
import { defineComponent, h, ref } from 'vue'
import { showField } from '../testing/show-field.ts'
import FormDialog from './FormDialog.vue'

beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

/** A form of two fields, whose first one is wrong once it was submitted, or that the server refuses. */
function show(outcome: 'wrong' | 'refused') {
  const tried = ref(false)
  const Form = defineComponent({
    setup: () => () =>
      h(
        FormDialog,
        {
          modelValue: true,
          title: 'A form',
          submitLabel: 'Save',
          busy: false,
          failure: tried.value && outcome === 'refused' ? { title: 'Refused', words: 'The name is taken.' } : null,
          onSubmit: () => void (tried.value = true),
        },
        () => [
          h('input', { id: 'first', 'aria-invalid': tried.value && outcome === 'wrong' ? 'true' : undefined }),
          h('input', { id: 'second' }),
        ],
      ),
  })
  showField(Form, true, { props: {}, components: { VAlert, VBtn, VCard, VDialog }, api: {} })
}
const submit = () => document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))

test('a form that cannot be submitted leads to its first wrong field, which may be off the screen', async () => {
  show('wrong')
  document.getElementById('second')?.focus()
  submit()
  await vi.waitFor(() => expect(document.activeElement?.id).toBe('first'))
})

test('a refusal is scrolled to, because it stands above the fields', async () => {
  const seen: string[] = []
  vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(function (this: Element) {
    seen.push(this.textContent)
  })
  show('refused')
  submit()
  await vi.waitFor(() => expect(seen).toEqual([expect.stringContaining('The name is taken.')]))
})
