// @vitest-environment happy-dom
import { createApp, defineComponent } from 'vue'
import { expect, test } from 'vitest'
import { createWheelSteps, fontStep, useFontZoom } from './font-zoom.ts'

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

test('a touchpad makes a step of many small moves, and begins anew when it turns', () => {
  const stepsOf = createWheelSteps()
  const pixels = (deltaY: number) => stepsOf({ deltaY, deltaMode: WheelEvent.DOM_DELTA_PIXEL })
  expect([-40, -40, -40, 30, 60, 30].map(pixels)).toEqual([0, 0, 1, 0, 0, -1])
  expect(stepsOf({ deltaY: 3, deltaMode: WheelEvent.DOM_DELTA_LINE })).toBe(-1)
})

test('keys and wheel of the zoom change the font, and reach neither the shell nor the menu', () => {
  const steps: unknown[] = []
  const shell: string[] = []
  const page = document.createElement('div')
  document.body.append(page)
  page.addEventListener('keydown', ({ key }) => shell.push(key))
  const app = createApp(
    defineComponent({
      setup() {
        useFontZoom(step => steps.push(step))
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
  const roll = (deltaY: number, ctrlKey: boolean) => {
    // The one of happy-dom has no modifiers.
    const wheel = new Event('wheel', { bubbles: true, cancelable: true })
    const event = Object.assign(wheel, { deltaY, deltaMode: 0, ctrlKey, altKey: false, metaKey: false })
    page.dispatchEvent(event)
    return event.defaultPrevented
  }
  expect([press('+'), press('0'), press('r')]).toEqual([true, true, false])
  expect([roll(-200, true), roll(100, true), roll(100, false)]).toEqual([true, true, false])
  expect(steps).toEqual([1, 'normal', 1, 1, -1])
  expect(shell).toEqual(['r'])
  app.unmount()
  expect(roll(100, true)).toBe(false)
  expect(press('+')).toBe(false)
  page.remove()
})
