import { ref, watch } from 'vue'

export const DENSITIES = ['comfortable', 'compact'] as const
export type Density = (typeof DENSITIES)[number]
const KEY = 'berth.density'

const read = (): Density => DENSITIES.find(density => density === globalThis.localStorage.getItem(KEY)) ?? 'comfortable'

/** Density of table rows. Remembered on this computer, and shared by all open tabs. */
export const density = ref<Density>(read())
watch(density, next => globalThis.localStorage.setItem(KEY, next))
globalThis.addEventListener('storage', ({ key }) => {
  if (key === KEY) density.value = read()
})

/** Height of a row in pixels; reactive. */
export const rowHeightOf = (comfortable: number, compact: number): number =>
  density.value === 'compact' ? compact : comfortable
