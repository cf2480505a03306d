import { onBeforeUnmount, onMounted } from 'vue'

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>

/**
 * Recognises the keys with which browsers zoom. @returns a step of the font's size, 'normal' for the default size, undefined for all other
 * keys
 */
export function fontStep({ key, ctrlKey, metaKey, altKey }: Key): 1 | -1 | 'normal' | undefined {
  if (altKey || ctrlKey === metaKey) return undefined
  // On many keyboards + is above =, and _ above -.
  if (key === '+' || key === '=') return 1
  if (key === '-' || key === '_') return -1
  return key === '0' ? 'normal' : undefined
}

/** Scroll height in pixels, by wheel or touchpad, for one step: one notch of most wheels. */
const STEP_PX = 100

type Roll = Pick<WheelEvent, 'deltaY' | 'deltaMode'>

/** Gathers scroll movements into whole steps: a touchpad sends many small events. @returns the steps of an event; up means larger */
export function createWheelSteps(): (roll: Roll) => number {
  let rest = 0
  return ({ deltaY, deltaMode }) => {
    // Firefox counts in lines and pages: each event is one notch.
    if (deltaMode !== WheelEvent.DOM_DELTA_PIXEL) return -Math.sign(deltaY)
    if (Math.sign(deltaY) !== Math.sign(rest)) rest = 0
    rest += deltaY
    const steps = Math.trunc(rest / STEP_PX)
    rest -= steps * STEP_PX
    // Without the last term it could be -0.
    return -steps + 0
  }
}

/**
 * Calls `act` instead of zooming with keys and with Ctrl and the wheel, as long as the component is on the page. Electron's own zoom would
 * affect all windows of the origin.
 */
export function useFontZoom(act: (step: 1 | -1 | 'normal') => void): void {
  const stepsOf = createWheelSteps()
  // Otherwise the shell would get key and wheel too.
  function keepFromShell(event: Event): void {
    event.preventDefault()
    event.stopPropagation()
  }
  function onKey(event: KeyboardEvent): void {
    const step = fontStep(event)
    if (step === undefined) return
    keepFromShell(event)
    act(step)
  }
  function onWheel(event: WheelEvent): void {
    if (!event.ctrlKey || event.altKey || event.metaKey) return
    keepFromShell(event)
    const steps = stepsOf(event)
    for (let n = Math.abs(steps); n > 0; n--) act(steps > 0 ? 1 : -1)
  }
  onMounted(() => {
    window.addEventListener('keydown', onKey, { capture: true })
    window.addEventListener('wheel', onWheel, { capture: true, passive: false })
  })
  onBeforeUnmount(() => {
    window.removeEventListener('keydown', onKey, { capture: true })
    window.removeEventListener('wheel', onWheel, { capture: true })
  })
}
