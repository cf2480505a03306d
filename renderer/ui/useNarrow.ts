import { computed, type ComputedRef } from 'vue'
import { useDisplay } from 'vuetify'

/** Width in pixels of the rail at the side, if there is one. */
export const RAIL_WIDTH = 72
/** Below this width, in CSS pixels, the page has the layout for phones; this includes a desktop at 200 % zoom in half a window. */
const NARROW = 700

export function useNarrow(): ComputedRef<boolean> {
  const { width } = useDisplay()
  return computed(() => width.value < NARROW)
}
