import { defineAsyncComponent, h } from 'vue'

/** A filter must be there soon, even where the browser is never idle. */
const LATEST_MS = 1_000

/**
 * A select that arrives after the page is usable: with its list, its chips and its virtual rows it is a tenth of the scripts of the list of
 * sessions, and nobody filters before there are rows. Until then an empty element with the same classes keeps its place.
 */
export const LateSelect = defineAsyncComponent({
  async loader() {
    await new Promise(resolve => requestIdleCallback(resolve, { timeout: LATEST_MS }))
    return (await import('vuetify/components/VSelect')).VSelect
  },
  loadingComponent: () => h('span'),
  delay: 0,
})
