import { computed, onScopeDispose, ref, watch, type ComputedRef } from 'vue'
import { afterFrame } from './after-frame.ts'

/**
 * The parts of a page to draw: the first one at once, and one more after each frame. For parts that together take long to draw, of which
 * the first ones fill the window. A hidden page has no frames, and is drawn whole.
 */
export function useOneByOne<T>(all: () => readonly T[]): ComputedRef<readonly T[]> {
  const drawn = ref(1)
  let stop: (() => void) | undefined
  function next(): void {
    if (drawn.value >= all().length) return
    stop = afterFrame(() => {
      drawn.value += 1
      next()
    })
  }
  watch(
    all,
    parts => {
      stop?.()
      drawn.value = document.hidden ? parts.length : 1
      next()
    },
    { immediate: true },
  )
  onScopeDispose(() => stop?.())
  return computed(() => all().slice(0, drawn.value))
}
