import { computed, onBeforeUnmount, onMounted, readonly, ref, type ComputedRef, type Ref } from 'vue'

export interface VirtualRows {
  /** First row to render, and the one after the last. */
  readonly start: ComputedRef<number>
  readonly end: ComputedRef<number>
  /** Heights of the empty space above and below the rendered rows. */
  readonly before: ComputedRef<number>
  readonly after: ComputedRef<number>
  /** Last width of the list in pixels that was not 0; a hidden list has width 0. */
  readonly width: Readonly<Ref<number>>
  /** Range of the rows that are really visible, end exclusive, for data that only they need. */
  readonly visible: ComputedRef<readonly [number, number]>
  /**
   * True while the scrollbar is dragged (the list jumps by more than a screenful), until the list rests: rows may draw a
   * placeholder.
   */
  readonly skimming: Readonly<Ref<boolean>>
}

/** Time without movement after which a list counts as resting. */
const REST_MS = 80
/** First guess for the size of a new list, in pixels: that of the previous list. */
let usualHeight = 800
let usualWidth = globalThis.innerWidth

/** Computes which rows of equal height to render, so that a list of any length costs as much as a screenful. */
export function useVirtualRows(options: {
  readonly scroller: Ref<HTMLElement | null>
  readonly count: () => number
  /** Height in pixels, the same for all rows. */
  readonly rowHeight: () => number
  readonly overscan?: number
}): VirtualRows {
  const { scroller, count, rowHeight, overscan = 4 } = options
  const top = ref(0)
  const height = ref(usualHeight)
  const width = ref(usualWidth)
  const skimming = ref(false)
  let observer: ResizeObserver | undefined
  let rest: ReturnType<typeof setTimeout> | undefined

  const read = () => {
    top.value = scroller.value?.scrollTop ?? 0
  }
  const measure = () => {
    height.value = scroller.value?.clientHeight ?? 0
    usualHeight = height.value || usualHeight
    usualWidth = scroller.value?.clientWidth || usualWidth
    width.value = usualWidth
    read()
  }
  const onScroll = () => {
    const before = top.value
    read()
    if (!skimming.value && Math.abs(top.value - before) <= height.value) return
    skimming.value = true
    clearTimeout(rest)
    rest = setTimeout(() => (skimming.value = false), REST_MS)
  }
  onMounted(() => {
    const element = scroller.value
    if (!element) return
    element.addEventListener('scroll', onScroll, { passive: true })
    observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
  })
  onBeforeUnmount(() => {
    scroller.value?.removeEventListener('scroll', onScroll)
    clearTimeout(rest)
    observer?.disconnect()
  })

  const first = computed(() => Math.max(0, Math.min(Math.floor(top.value / rowHeight()), count() - 1)))
  const last = computed(() => Math.min(count(), Math.ceil((top.value + height.value) / rowHeight())))
  // The range moves in steps of the overscan: rows are added and removed in batches, not one by one with every wheel tick.
  const start = computed(() => Math.max(0, (Math.floor(first.value / overscan) - 1) * overscan))
  const end = computed(() => Math.min(count(), (Math.ceil(last.value / overscan) + 1) * overscan))
  return {
    start,
    end,
    before: computed(() => start.value * rowHeight()),
    after: computed(() => Math.max(0, count() - end.value) * rowHeight()),
    visible: computed(() => [first.value, last.value] as const),
    width: readonly(width),
    skimming: readonly(skimming),
  }
}
