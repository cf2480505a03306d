import { onScopeDispose, readonly, ref, type Ref } from 'vue'

/**
 * False in the first frame of a page and true from the second on: for parts that take long to draw, so that the page itself shows at
 * once. A page that nobody sees has no frames, and is drawn whole.
 */
export function useSecondFrame(): Readonly<Ref<boolean>> {
  const isThere = ref(document.hidden)
  let timer: ReturnType<typeof setTimeout> | undefined
  // A frame is painted after its callbacks, and before this timer.
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(() => (isThere.value = true))
  })
  onScopeDispose(() => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  })
  return readonly(isThere)
}
