import { computed, onBeforeUnmount, onMounted, ref, type WritableComputedRef } from 'vue'

const KEY = 'berth.single-keys'
let shared: WritableComputedRef<boolean> | undefined

/**
 * Whether single-key shortcuts are on. They can be switched off (WCAG 2.1.4), because speech input and unsteady hands press such
 * keys by accident. Remembered on this computer.
 */
export function useSingleKeys(): WritableComputedRef<boolean> {
  shared ??= remembered()
  return shared
}

/** The setter stores the choice: a watcher would end with the first component that uses the choice. */
function remembered(): WritableComputedRef<boolean> {
  const isOn = ref(globalThis.localStorage.getItem(KEY) !== 'off')
  return computed({
    get: () => isOn.value,
    set(on) {
      isOn.value = on
      globalThis.localStorage.setItem(KEY, on ? 'on' : 'off')
    },
  })
}

/** Runs `act` when the key is pressed outside fields, menus and dialogs, for as long as the component is on the page. */
export function useShortcut(key: string, act: () => void): void {
  const isOn = useSingleKeys()
  function onKey(event: KeyboardEvent): void {
    if (!isOn.value || event.key !== key || event.ctrlKey || event.metaKey || event.altKey) return
    const target = event.target instanceof Element ? event.target : null
    if (target?.closest('input, textarea, select, [contenteditable]')) return
    if (document.querySelector('.v-overlay--active:is(.v-menu, .v-dialog)')) return
    event.preventDefault()
    act()
  }
  onMounted(() => window.addEventListener('keydown', onKey))
  onBeforeUnmount(() => window.removeEventListener('keydown', onKey))
}
