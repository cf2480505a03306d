// @vitest-environment happy-dom
import { createApp, defineComponent } from 'vue'
import { expect, test } from 'vitest'
import { fontStep, useFontKeys } from './font-keys.ts'

const NONE = { ctrlKey: false, metaKey: false, altKey: false }
const CTRL = { ...NONE, ctrlKey: true }

test.each([
  [{ ...CTRL, key: '+' }, 1],
  [{ ...CTRL, key: '=' }, 1],
  [{ ...NONE, metaKey: true, key: '+' }, 1],
  [{ ...CTRL, key: '-' }, -1],
  [{ ...CTRL, key: '0' }, 'normal'],
  [{ ...NONE, key: '+' }, undefined],
  [{ ...CTRL, altKey: true, key: '0' }, undefined],
  [{ ...CTRL, key: 'r' }, undefined],
] as const)('%j is a step of %s', (key, step) => {
  expect(fontStep(key)).toBe(step)
})

test('a key of the zoom changes the font, and reaches neither the shell nor the menu', () => {
  const steps: unknown[] = []
  const shell: string[] = []
  const page = document.createElement('div')
  document.body.append(page)
  page.addEventListener('keydown', ({ key }) => shell.push(key))
  const app = createApp(
    defineComponent({
      setup() {
        useFontKeys(step => steps.push(step))
        return () => null
      },
    }),
  )
  app.mount(document.createElement('div'))
  const press = (key: string) => {
    const event = new KeyboardEvent('keydown', { key, ctrlKey: true, bubbles: true, cancelable: true })
    page.dispatchEvent(event)
    return event.defaultPrevented
  }
  expect([press('+'), press('0'), press('r')]).toEqual([true, true, false])
  expect(steps).toEqual([1, 'normal'])
  expect(shell).toEqual(['r'])
  app.unmount()
  expect(press('+')).toBe(false)
  page.remove()
})
