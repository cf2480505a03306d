import { onBeforeUnmount, onMounted } from 'vue'

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>

/** The keys that browsers zoom with. @returns a step of the font's size, 'normal' for its first size, undefined for all other keys */
export function fontStep({ key, ctrlKey, metaKey, altKey }: Key): 1 | -1 | 'normal' | undefined {
  if (altKey || ctrlKey === metaKey) return undefined
  // On many keyboards + is above =, and _ above -.
  if (key === '+' || key === '=') return 1
  if (key === '-' || key === '_') return -1
  return key === '0' ? 'normal' : undefined
}

/** Calls `act` instead of the zoom, for as long as the component is on the page. The zoom of a window is that of all windows of its origin. */
export function useFontKeys(act: (step: 1 | -1 | 'normal') => void): void {
  function onKey(event: KeyboardEvent): void {
    const step = fontStep(event)
    if (step === undefined) return
    event.preventDefault()
    // The shell would get it too.
    event.stopPropagation()
    act(step)
  }
  onMounted(() => window.addEventListener('keydown', onKey, { capture: true }))
  onBeforeUnmount(() => window.removeEventListener('keydown', onKey, { capture: true }))
}
