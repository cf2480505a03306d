import { ref, shallowRef } from 'vue'

/** The thing that a dialog is about, and whether the dialog is open. The thing stays while the dialog closes. */
export function useAsked<T>() {
  const asked = shallowRef<T | null>(null)
  const asking = ref(false)
  function ask(thing: T): void {
    asked.value = thing
    asking.value = true
  }
  return { asked, asking, ask }
}
