import { onScopeDispose, readonly, ref, type Ref } from 'vue'
import { afterFrame } from './after-frame.ts'

/**
 * False in the first frame of a page and true from the second on: for parts that take long to draw, so that the page itself shows at once.
 * A hidden page has no frames, and is drawn whole.
 */
export function useSecondFrame(): Readonly<Ref<boolean>> {
  const isThere = ref(document.hidden)
  onScopeDispose(afterFrame(() => (isThere.value = true)))
  return readonly(isThere)
}
