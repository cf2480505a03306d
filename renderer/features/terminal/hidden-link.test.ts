// @vitest-environment happy-dom
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VAlert } from 'vuetify/components/VAlert'
import { VBtn } from 'vuetify/components/VBtn'
import { VCard, VCardText } from 'vuetify/components/VCard'
import { VDialog } from 'vuetify/components/VDialog'
import { showField } from '../../testing/show-field.ts'
import HiddenLinkDialog from './HiddenLinkDialog.vue'

beforeAll(() => void vi.stubGlobal('visualViewport', new EventTarget()))
afterAll(() => void vi.unstubAllGlobals())

test('an address that a browser would need minutes for is cut in the question, and opens whole', async () => {
  const url = `https://example.org/${'\u05d0'.repeat(100_000)}`
  const open = vi.fn()
  showField(HiddenLinkDialog, url, {
    props: { open },
    components: { VAlert, VBtn, VCard, VCardText, VDialog },
    api: {},
  })
  await expect
    .poll(() => document.querySelector('.address')?.textContent)
    .toMatch(/^https:\/\/example.org\/\u05d0{10000}…$/)
  document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))
  await expect.poll(() => open.mock.calls).toEqual([[url]])
})
