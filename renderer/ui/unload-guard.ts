import { computed, onScopeDispose, shallowRef, type Ref, watch } from 'vue'

const edited = shallowRef(0)
/** Whether a text of this page has changes that are not saved; the desktop app asks before it quits. */
export const hasEdits = computed(() => edited.value > 0)

const warn = (event: BeforeUnloadEvent) => event.preventDefault()

/** Makes the browser ask before it leaves the page, as long as the text is dirty and its component exists. */
export function guardEdits(isDirty: Readonly<Ref<boolean>>): void {
  let isGuarded = false
  function guard(next: boolean): void {
    if (next === isGuarded) return
    isGuarded = next
    edited.value += next ? 1 : -1
    if (edited.value > 0) globalThis.addEventListener('beforeunload', warn)
    else globalThis.removeEventListener('beforeunload', warn)
  }
  watch(isDirty, guard, { immediate: true })
  onScopeDispose(() => guard(false))
}
